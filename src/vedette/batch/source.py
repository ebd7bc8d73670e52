"""Where a job's rows come from. Everything streams: no more than one record is in memory."""

from __future__ import annotations

import os
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Literal, TypeAlias

from vedette.errors import InputError

from .inputs import Format, InputFile, resolve, unreadable
from .read_csv import check_csv_header, read_csv
from .read_jsonl import read_jsonl
from .read_lines import FirstLine, LineStream, read_blocks, read_lines, read_records
from .read_parquet import check_parquet, read_parquet
from .rows import Fields, Row

Records: TypeAlias = Literal["line", "blank", "regex"]

COUNTED_BYTES = 64 * 1024 * 1024  # larger inputs are not read twice for a progress bar's sake


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which rows a job is about.

    `paths` are files, globs, or `-` for stdin. `format` auto goes by the suffix (.jsonl, .ndjson,
    .csv, .tsv, .parquet, .pq; anything else is plain lines; `.gz` may follow); stdin counts as
    JSONL when its first line is a JSON object, else as plain lines.

    `records` says what a row of plain text is: each line, blocks between blank lines, or blocks
    that start where `pattern` (a regular expression) is found in a line.

    `text_field` (default `text`) and `id_field` (default: `id` where a row has one) name fields
    of structured rows; `columns` further ones that the task reads. The task sees no others, and
    two rows are the same when their text and these columns are. With `whole_rows` it sees all
    fields, and `columns` are those that headers must name; without `needs_text` a structured row
    has no text; without `needs_columns` a row of JSONL need have only one of them.

    A given id is passed through as it is, even when two rows share it; a row without one goes by
    its 1-based number over all the files. `limit` takes the first rows, `sample` that many at
    random (the same ones for the same `seed`, in input order), which reads the input twice.
    """

    paths: tuple[str, ...]
    format: Format = "auto"
    records: Records = "line"
    pattern: str | None = None
    text_field: str | None = None
    id_field: str | None = None
    columns: tuple[str, ...] = ()
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    whole_rows: bool = False
    needs_text: bool = True
    needs_columns: bool = True

    @property
    def fields(self) -> Fields:
        """The fields of structured rows, defaults filled in."""
        text = (self.text_field or "text") if self.needs_text else None
        return Fields(
            text=text,
            id=self.id_field,
            columns=self.columns,
            whole=self.whole_rows,
            lenient=not self.needs_columns,
        )

    @property
    def _names_fields(self) -> bool:
        return bool(self.text_field or self.id_field or self.columns)

    def check(self) -> tuple[InputFile, ...]:
        """The files, after everything that can be known before the first row has been checked.

        Raises `FileError` for a file that is missing, unreadable or lacks a column, `InputError`
        for options that are wrong or that nothing in the input could use.
        """
        files = resolve(self.paths, self.format)
        self._check_options(files)
        for file in files:
            if file.format == "parquet":
                check_parquet(file.path, self.fields)
            elif file.format == "csv" and file.is_regular:
                with file.open() as stream:
                    check_csv_header(stream, file.name, self.fields, file.delimiter)
        return files

    def rows(self) -> Iterator[Row]:
        """The rows in order; bad ones are among them. Raises what `check` raises."""
        files = self.check()
        if self.sample is not None:
            return self._sampled(files, self.sample)
        rows = self._all(files)
        return rows if self.limit is None else islice(rows, self.limit)

    def total(self) -> int | None:
        """How many rows there are, or None when counting would cost too much or is impossible."""
        files = self.check()
        if not all(file.is_regular and not file.path.endswith(".gz") for file in files):
            return None
        if sum(os.path.getsize(file.path) for file in files) > COUNTED_BYTES:
            return None
        total = sum(1 for _ in islice(self._all(files), self.limit))
        return total if self.sample is None else min(total, self.sample)

    def _check_options(self, files: tuple[InputFile, ...]) -> None:
        formats = {file.format for file in files}
        plain = formats == {"lines"} or (self.records != "line" and formats <= {"lines", "auto"})
        if self.records != "line" and not formats & {"lines", "auto"}:
            raise InputError(f"--records {self.records} is for plain text, and no input is that")
        if plain and self._names_fields:
            named = next(filter(None, (self.text_field, self.id_field, *self.columns)))
            raise InputError(
                f"the field {named!r} is asked for, but the input is plain text without fields",
                hint="give the format: jsonl, csv or parquet",
            )
        if (self.pattern is None) == (self.records == "regex"):
            raise InputError("--records regex and --pattern go together: give both or neither")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                message = f"the pattern {self.pattern!r} is no regular expression: {error}"
                raise InputError(message) from error
        self._check_amounts(files)

    def _check_amounts(self, files: tuple[InputFile, ...]) -> None:
        for name, value in (("--limit", self.limit), ("--sample", self.sample)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}; it must be at least 1")
        if self.limit is not None and self.sample is not None:
            raise InputError("--limit and --sample exclude each other", hint="give one of them")
        if self.sample is not None:
            for file in files:
                if not file.is_regular:
                    raise InputError(
                        f"--sample reads the input twice, which {file.name} does not allow",
                        hint="save it to a file first, or use --limit",
                    )

    def _sampled(self, files: tuple[InputFile, ...], size: int) -> Iterator[Row]:
        total = sum(1 for _ in self._all(files))
        chosen = random.Random(self.seed).sample(range(total), min(size, total))
        wanted = set(chosen)
        last = max(wanted, default=-1)
        rows = islice(self._all(files), last + 1)
        return (row for index, row in enumerate(rows) if index in wanted)

    def _all(self, files: tuple[InputFile, ...]) -> Iterator[Row]:
        numbers = count(1)
        return chain.from_iterable(self._read(file, numbers) for file in files)

    def _read(self, file: InputFile, numbers: Iterator[int]) -> Iterator[Row]:
        try:
            if file.format == "parquet":
                yield from read_parquet(file.path, numbers, self.fields)
                return
            with file.open() as stream:
                yield from self._read_stream(stream, file, numbers)
        except (OSError, EOFError, zlib.error) as error:
            reason = error if isinstance(error, OSError | EOFError) else OSError(str(error))
            raise unreadable(file.name, reason) from error

    def _read_stream(
        self, stream: LineStream, file: InputFile, numbers: Iterator[int]
    ) -> Iterator[Row]:
        chosen = file.format
        if chosen == "auto":
            stream = FirstLine(stream)
            structured = self._names_fields or (self.records == "line" and stream.is_json_object)
            chosen = "jsonl" if structured else "lines"
        if chosen == "jsonl":
            return read_jsonl(stream, file.name, numbers, self.fields)
        if chosen == "csv":
            return read_csv(stream, file.name, numbers, self.fields, file.delimiter)
        if self.records == "blank":
            return read_blocks(stream, file.name, numbers)
        if self.records == "regex":
            return read_records(stream, file.name, numbers, re.compile(self.pattern or ""))
        return read_lines(stream, file.name, numbers)
