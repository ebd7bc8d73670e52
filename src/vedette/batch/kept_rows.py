"""Rows that may come to be kept, on disk until it is known which ones are."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Sequence
from typing import BinaryIO, cast

import orjson

from vedette.errors import InputError
from vedette.types import Item

from .outputs import Output
from .record_text import text_of_value
from .source import Source


class KeptRows:
    """Takes rows in order and writes some of them in the form in which they came.

    Plain text stays plain text (blocks between blank lines stay apart), CSV files stay CSV with
    their header, JSONL and Parquet become JSONL. CSV beside another format becomes JSONL too.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._form = _form(source)
        self._file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115
        self._ends = [0]
        self._columns: tuple[str, ...] = ()

    def add(self, item: Item | None) -> None:
        """The next row; None for one that is not going to be kept."""
        if item is not None:
            self._file.write(self._line(item))
        self._ends.append(self._file.tell())

    def write(self, output: Output, rows: Iterable[int]) -> None:
        """Write these rows, by their numbers from 0."""
        if self._form == "csv" and self._columns:
            output.put(self._csv_line(self._columns))
        for row in rows:
            start, end = self._ends[row : row + 2]
            self._file.seek(start)
            output.put(self._file.read(end - start))

    def close(self) -> None:
        """Let go of the file, which then is no more."""
        self._file.close()

    def _line(self, item: Item) -> bytes:
        if self._form == "auto":  # stdin: its first row decides
            self._form = "jsonl" if item.columns else "lines"
        if self._form == "lines" and not item.columns:
            end = "\n\n" if self._source.records == "blank" else "\n"
            return (item.text + end).encode()
        if self._form == "csv":
            columns = tuple(item.columns)
            self._columns = self._columns or columns
            if columns != self._columns:
                raise InputError(
                    "the CSV files have different columns, so their rows cannot be in one",
                    hint="convert them to JSONL, or deduplicate them one by one",
                )
            return self._csv_line([text_of_value(value) for value in item.columns.values()])
        return orjson.dumps(dict(item.columns) if item.columns else item.text) + b"\n"

    def _csv_line(self, cells: Sequence[str]) -> bytes:
        text = io.StringIO()
        delimiter = self._source.check()[0].delimiter
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(cells)
        return text.getvalue().encode()


def _form(source: Source) -> str:
    """Of the output: that of the inputs where they have one form in common."""
    formats = {"jsonl" if file.format == "parquet" else file.format for file in source.check()}
    if formats == {"auto"} and source.records != "line":
        return "lines"
    return formats.pop() if len(formats) == 1 else "jsonl"
