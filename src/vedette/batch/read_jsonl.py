"""JSONL as rows: an object with a text field, or a bare string, on each line."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from vedette.types import Item

from .read_lines import LineStream, raw_lines
from .rows import Fields, Row, bad_row, json_kind, not_utf8, too_long


def read_jsonl(
    stream: LineStream, name: str, numbers: Iterator[int], fields: Fields
) -> Iterator[Row]:
    """Blank lines are no rows; a line that is not right is a bad row and the reading goes on."""
    for line_number, line in raw_lines(stream):
        where = f"{name} line {line_number}"
        if line is None:
            yield too_long(next(numbers), where)
        elif line.strip():
            yield _row(next(numbers), line, where, fields)


def _row(number: int, line: bytes, where: str, fields: Fields) -> Row:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as cause:
            return not_utf8(number, where, cause)
        return bad_row(number, f"{where}: not valid JSON: {error.msg} (column {error.colno})")
    if isinstance(value, dict):
        return fields.row(number, value, where)
    takes_string = fields.wanted == (fields.text,)
    if isinstance(value, str) and takes_string:
        return Item(id=str(number), text=value)
    wanted = f"{fields.description} or a string" if takes_string else fields.description
    return bad_row(number, f"{where}: the row is {json_kind(value)}, not {wanted}")
