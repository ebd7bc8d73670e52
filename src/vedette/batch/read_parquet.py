"""Parquet as rows, batch by batch. Needs pyarrow, which the extra `data` brings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vedette.errors import FileError
from vedette.types import Json

from .rows import Fields, Row, bad_row

if TYPE_CHECKING:
    from types import ModuleType

ROWS_PER_BATCH = 256


def read_parquet(path: str, numbers: Iterator[int], fields: Fields) -> Iterator[Row]:
    """The file's rows in order; a row group is read in small batches."""
    pyarrow = _pyarrow()
    row_number = 0
    file = _open(path)
    with file:
        columns = _columns(file, path, fields)
        try:
            for batch in file.iter_batches(batch_size=ROWS_PER_BATCH, columns=columns):
                cells = {name: _cells(pyarrow, batch.column(name)) for name in columns}
                for index in range(batch.num_rows):
                    row_number += 1
                    values = {name: cells[name][index] for name in columns}
                    yield _row(next(numbers), values, f"{path} row {row_number}", fields)
        except (OSError, pyarrow.ArrowException) as error:
            message = f"{path}: cannot be read after row {row_number}: {_one_line(error)}"
            raise FileError(message) from error


def check_parquet(path: str, fields: Fields) -> None:
    """Raise `FileError` unless the file is Parquet, has the columns, and its text is text."""
    with _open(path) as file:
        _columns(file, path, fields)


def _pyarrow() -> ModuleType:
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise FileError(
            "reading Parquet needs pyarrow, which is not installed",
            hint="pip install 'vedette[data]'",
        ) from error


def _open(path: str) -> Any:
    pyarrow = _pyarrow()
    parquet = import_module("pyarrow.parquet")
    try:
        return parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise FileError(f"{path}: not a readable Parquet file: {_one_line(error)}") from error


def _columns(file: Any, path: str, fields: Fields) -> list[str]:
    """The columns to read. Raises `FileError` for a missing one or a text that is no text."""
    names = list(file.schema_arrow.names)
    wanted = [*fields.wanted]
    if fields.id is None and "id" in names:
        wanted.append("id")
    for column in wanted:
        if column not in names:
            shown = ", ".join(map(repr, names)) or "none"
            raise FileError(
                f"{path}: there is no column {column!r} (it has: {shown})",
                hint="name the column that holds the text with --text-field"
                if column == fields.text
                else None,
            )
    if fields.text is not None:
        kind = str(file.schema_arrow.field(fields.text).type)
        if "string" not in kind:
            raise FileError(f"{path}: the column {fields.text!r} holds {kind}, not strings")
    return names if fields.whole else list(dict.fromkeys(wanted))


def _cells(pyarrow: ModuleType, column: Any) -> list[Any]:
    """A column's values. Strings come as bytes, so that one bad cell costs one row only."""
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        column = column.cast(pyarrow.large_binary())
    cells: list[Any] = column.to_pylist()
    return cells


def _row(number: int, values: dict[str, Any], where: str, fields: Fields) -> Row:
    decoded: dict[str, Json] = {}
    for name, value in values.items():
        try:
            decoded[name] = _json_of(value)
        except UnicodeDecodeError:
            return bad_row(number, f"{where}: the column {name!r} is not valid UTF-8")
        if (fields.whole or name in fields.columns) and not isinstance(
            decoded[name], str | int | float | list | dict | None
        ):
            kind = type(value).__name__
            return bad_row(number, f"{where}: the column {name!r} holds a {kind}, which is no JSON")
    return fields.row(number, decoded, where)


def _json_of(value: Any) -> Any:
    """Text as text, times as ISO 8601, decimals as they are written; anything else as it is."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
