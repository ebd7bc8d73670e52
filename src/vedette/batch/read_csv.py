"""CSV and TSV as rows: a header, then one record per row, quotes as in RFC 4180."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from vedette.errors import FileError

from .read_lines import LineStream, raw_lines
from .rows import MAX_RECORD_BYTES, Fields, Row, bad_row, too_long


def read_csv(
    stream: LineStream, name: str, numbers: Iterator[int], fields: Fields, delimiter: str
) -> Iterator[Row]:
    """Rows after the header. Raises `FileError` when the header lacks a wanted column."""
    lines = _Lines(stream)
    # NOTE: the limit belongs to the csv module as a whole; there is no other way to set it.
    csv.field_size_limit(MAX_RECORD_BYTES)
    records = csv.reader(lines, delimiter=delimiter, strict=True)
    header = _header(records, name, fields)
    while True:
        first_line = records.line_num + 1
        where = f"{name} line {first_line}"
        try:
            record = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            lines.skipped = False
            message = f"{where}: broken CSV: {error}"
            yield bad_row(next(numbers), message, hint="is a quote left open?")
            continue
        if lines.skipped:
            lines.skipped = False
            yield too_long(next(numbers), where)
        elif record:
            yield _row(next(numbers), record, header, where, fields)


def check_csv_header(stream: LineStream, name: str, fields: Fields, delimiter: str) -> None:
    """Raise `FileError` unless the header names every wanted column once."""
    csv.field_size_limit(MAX_RECORD_BYTES)
    _header(csv.reader(_Lines(stream), delimiter=delimiter, strict=True), name, fields)


def _header(records: Iterator[list[str]], name: str, fields: Fields) -> list[str]:
    try:
        header = next(records, [])
    except csv.Error as error:
        raise FileError(f"{name}: the CSV header cannot be read: {error}") from error
    shown = ", ".join(map(repr, header)) or "none"
    for column in header if fields.whole else ():
        if header.count(column) > 1:
            raise FileError(f"{name}: the CSV header has the column {column!r} twice")
    for column in fields.wanted:
        if header.count(column) != 1:
            problem = "two columns" if column in header else "no column"
            raise FileError(
                f"{name}: the CSV header has {problem} {column!r} (it has: {shown})",
                hint="name the column that holds the text with --text-field"
                if column == fields.text
                else None,
            )
    return header


def _row(number: int, record: list[str], header: list[str], where: str, fields: Fields) -> Row:
    if len(record) != len(header):
        message = f"{where}: {len(record)} fields where the header has {len(header)}"
        return bad_row(number, message)
    try:
        for value in record:
            value.encode("utf-8")
    except UnicodeEncodeError:
        message = f"{where}: not valid UTF-8"
        return bad_row(number, message, hint="convert the file to UTF-8")
    return fields.row(number, dict(zip(header, record, strict=True)), where)


class _Lines:
    """Decoded lines for the csv module. `skipped` says that an over-long one was left out."""

    def __init__(self, stream: LineStream) -> None:
        self._raw = raw_lines(stream, keep_ends=True)
        self.skipped = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        _, line = next(self._raw)
        if line is None:
            self.skipped = True
            return "\n"
        # Bytes that are not UTF-8 pass as surrogates, so that one bad cell costs one row only.
        return line.decode("utf-8", errors="surrogateescape")
