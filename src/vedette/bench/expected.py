"""Right answers, to hold both sides against."""

from __future__ import annotations

import orjson

from vedette.errors import FileError
from vedette.types import Json


def parse_expected(text: str, where: str) -> dict[str, Json]:
    """Right answers by item id from `{"id", "value"}` on each line. Raises `FileError`."""
    expected: dict[str, Json] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
            row_id, value = str(row["id"]), row["value"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise FileError(
                f"{where} line {number} is no expected answer",
                hint='each line is {"id": ..., "value": ...}',
            ) from error
        if row_id in expected:
            raise FileError(f"{where} line {number}: the id {row_id!r} is there twice")
        expected[row_id] = value
    if not expected:
        raise FileError(f"{where} holds no expected answer")
    return expected
