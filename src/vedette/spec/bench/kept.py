"""Figures kept in a file while they are measured, so that a run that was stopped goes on."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import orjson

from vedette.errors import FileError, InputError
from vedette.types import Json

from .sample import Sample


class Kept:
    """A JSONL file: what was measured with what, then a line for each answer.

    Raises `InputError` if it holds figures of another model, bound or machine, `FileError` if it
    cannot be read or written.
    """

    def __init__(self, path: str, identity: dict[str, Json]) -> None:
        self._path = Path(path)
        self.samples: dict[tuple[str, str], Sample] = {}
        head = orjson.dumps({"measured": identity}, option=orjson.OPT_SORT_KEYS)
        try:
            lines = self._path.read_bytes().splitlines() if self._path.exists() else []
            if not lines:
                self._path.write_bytes(head + b"\n")
        except OSError as error:
            raise FileError(f"cannot use {path}: {error.strerror}") from error
        if lines:
            self._check(lines[0], head)
            for number, line in enumerate(lines[1:], 2):
                self._read(line, number, is_last=number == len(lines))

    def _check(self, found: bytes, wanted: bytes) -> None:
        if not found.startswith(b'{"measured":'):
            raise InputError(
                f"{self._path} holds something else than figures of a run",
                hint="name another file for --runs",
            )
        if found != wanted:
            other = found.decode(errors="replace")[:400]
            raise InputError(
                f"{self._path} holds figures that were measured with {other}, "
                f"not with {wanted.decode()[:400]}",
                hint="name another file for --runs",
            )

    def _read(self, line: bytes, number: int, *, is_last: bool) -> None:
        try:
            sample = Sample.of(orjson.loads(line))
        except (ValueError, TypeError) as error:
            if not is_last:  # the last line may be cut short: that answer is asked for again
                raise FileError(f"{self._path}, line {number} is no sample: {error}") from error
            self._cut_last(line)
            return
        self.samples[sample.variant, sample.prompt] = sample

    def _cut_last(self, line: bytes) -> None:
        size = self._path.stat().st_size
        os.truncate(self._path, size - len(line))

    def add(self, sample: Sample) -> None:
        """Write one down at once. Raises `FileError`."""
        try:
            with self._path.open("ab") as file:
                file.write(orjson.dumps(sample.as_dict()) + b"\n")
        except OSError as error:
            raise FileError(f"cannot write {self._path}: {error.strerror}") from error
        self.samples[sample.variant, sample.prompt] = sample

    def has(self, variants: Collection[str], prompt: str) -> bool:
        """Whether all these variants have answered this prompt."""
        return all((variant, prompt) in self.samples for variant in variants)
