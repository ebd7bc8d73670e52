"""Plain text as rows: every line, blocks between blank lines, or blocks that a pattern opens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import orjson

from vedette.types import Item

from .rows import MAX_RECORD_BYTES, Row, not_utf8, too_long

BOM = b"\xef\xbb\xbf"


class LineStream(Protocol):
    """What the readers need of an open file."""

    def readline(self, size: int, /) -> bytes:
        """The next line with its end, cut at `size` bytes; empty at the end of the file."""
        ...


class FirstLine:
    """A stream whose first line has been looked at and is still to be read."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream
        self._first = stream.readline(MAX_RECORD_BYTES + 1)
        self._read = False

    @property
    def is_json_object(self) -> bool:
        """Whether the first line is one."""
        try:
            return isinstance(orjson.loads(self._first.removeprefix(BOM)), dict)
        except orjson.JSONDecodeError:
            return False

    def readline(self, size: int, /) -> bytes:
        """The first line, then whatever the stream has."""
        if not self._read:
            self._read = True
            return self._first
        return self._stream.readline(size)


def raw_lines(stream: LineStream, *, keep_ends: bool = False) -> Iterator[tuple[int, bytes | None]]:
    """Number and bytes of each line, without a BOM and (unless asked) without LF or CRLF.

    None stands for a line beyond `MAX_RECORD_BYTES`: it is skipped without being held.
    """
    number = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if len(line) > MAX_RECORD_BYTES and not line.endswith(b"\n"):
            while (rest := stream.readline(MAX_RECORD_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield number, None
            continue
        if number == 1:
            line = line.removeprefix(BOM)
        if not keep_ends and line.endswith(b"\n"):
            line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
        yield number, line


def read_lines(stream: LineStream, name: str, numbers: Iterator[int]) -> Iterator[Row]:
    """Every line is a row, the empty ones too."""
    for line_number, line in raw_lines(stream):
        yield _row(next(numbers), f"{name} line {line_number}", line)


def read_blocks(stream: LineStream, name: str, numbers: Iterator[int]) -> Iterator[Row]:
    """Rows are blocks of lines with blank lines between them."""
    block = _Block()
    for line_number, line in raw_lines(stream):
        if line is None or line.strip():
            block.add(line_number, line)
        elif block:
            yield block.row(next(numbers), name)
            block = _Block()
    if block:
        yield block.row(next(numbers), name)


def read_records(
    stream: LineStream, name: str, numbers: Iterator[int], pattern: re.Pattern[str]
) -> Iterator[Row]:
    """A row starts at each line in which the pattern is found; the lines after it belong to it.

    Lines before the first such line are a row of their own, unless all of them are blank.
    """
    block = _Block()
    for line_number, line in raw_lines(stream):
        opens = line is not None and pattern.search(line.decode("utf-8", errors="replace"))
        if opens and block:
            yield block.row(next(numbers), name)
            block = _Block()
        if opens or block or line is None or line.strip():
            block.add(line_number, line)
    if block:
        yield block.row(next(numbers), name)


def _row(number: int, where: str, record: bytes | None) -> Row:
    if record is None:
        return too_long(number, where)
    try:
        return Item(id=str(number), text=record.decode("utf-8"))
    except UnicodeDecodeError as error:
        return not_utf8(number, where, error)


class _Block:
    """The lines of the record being read; past the limit it remembers only that it is too long."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._first_line = 0
        self._bytes = 0

    def __bool__(self) -> bool:
        return self._first_line > 0

    def add(self, line_number: int, line: bytes | None) -> None:
        self._first_line = self._first_line or line_number
        self._bytes += MAX_RECORD_BYTES + 1 if line is None else len(line) + 1
        if line is None or self._bytes > MAX_RECORD_BYTES:
            self._lines.clear()
        else:
            self._lines.append(line)

    def row(self, number: int, name: str) -> Row:
        """The record as a row, blank lines at its end left out."""
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        record = None if self._bytes > MAX_RECORD_BYTES else b"\n".join(self._lines)
        return _row(number, f"{name} line {self._first_line}", record)
