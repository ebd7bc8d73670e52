"""Few-shot rows from a JSONL file."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from vedette.errors import InputError
from vedette.types import Json

from .extract import Example
from .label_prompt import LabelledText


def _rows(source: str, where: str) -> Iterator[tuple[int, dict[str, Json]]]:
    found = 0
    # Not splitlines: a JSON string may hold U+2028 and the like as they are.
    for number, line in enumerate(source.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{where}, line {number} is not JSON: {error.msg} (column {error.colno})"
            ) from error
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            raise InputError(f'{where}, line {number} has no "text"')
        found += 1
        yield number, row
    if not found:
        raise InputError(f"{where} has no rows", hint="leave it out to do without examples")


def extract_examples(source: str, where: str) -> tuple[Example, ...]:
    """Rows `{"text": ..., "value": ...}`. Raises `InputError` with the line that is wrong."""
    found = []
    for number, row in _rows(source, where):
        if "value" not in row:
            raise InputError(f'{where}, line {number} has no "value"')
        found.append(Example(str(row["text"]), row["value"]))
    return tuple(found)


def label_examples(source: str, where: str) -> tuple[LabelledText, ...]:
    """Rows `{"text": ..., "label": ...}`, or `"labels": [...]` for several."""
    found = []
    for number, row in _rows(source, where):
        labels = row.get("labels", [row["label"]] if "label" in row else None)
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError(f'{where}, line {number} has no "label"')
        found.append(LabelledText(str(row["text"]), tuple(str(label) for label in labels)))
    return tuple(found)
