"""What measurements read, and the answers they keep so that a run can go on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vedette.errors import InputError


def json_file(path: Path) -> Any:
    """What a JSON file holds. Raises `InputError`."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


def json_lines(path: Path, *fields: str) -> list[dict[str, Any]]:
    """The objects of a file, a line each, all with these fields. Raises `InputError`."""
    try:
        # Not splitlines: JSON may have U+2028 in a string.
        lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if lines == [""]:
        raise InputError(f"{path} is empty")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"line {number} of {path} is not JSON: {error}") from error
        missing = [name for name in fields if not isinstance(row, dict) or name not in row]
        if missing:
            raise InputError(f"line {number} of {path} has no {missing[0]!r}")
        rows.append(row)
    return rows


class Kept:
    """Answers by key, in a file as they come; its first line says what they are answers to.

    Without a path nothing is kept. Raises `InputError` if the file is another run's.
    """

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self._path = path
        self._answers: dict[str, dict[str, Any]] = {}
        if path is None:
            return
        whole = self._whole_lines(path)
        if not whole:
            self._append({"about": about})
            return
        lines = [json.loads(line) for line in whole]
        if lines[0] != {"about": about}:
            raise InputError(f"{path} has answers of another run, {lines[0]}; give another --out")
        self._answers = {line["key"]: line["answer"] for line in lines[1:]}

    @staticmethod
    def _whole_lines(path: Path) -> list[str]:
        # A run that was killed may have left half a line: it is cut off.
        try:
            text = path.read_text("utf-8") if path.exists() else ""
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                path.write_text(whole, "utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot keep answers in {path}: {error}") from error
        return whole.splitlines()

    def get(self, key: str) -> dict[str, Any] | None:
        """The answer that an earlier run has given."""
        return self._answers.get(key)

    def add(self, key: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        self._answers[key] = answer
        if self._path is not None:
            self._append({"key": key, "answer": answer})

    def _append(self, line: dict[str, Any]) -> None:
        assert self._path is not None
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise InputError(f"cannot keep answers in {self._path}: {error.strerror}") from error
