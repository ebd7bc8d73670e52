"""The candidates of a ranking, as they stand in a row."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from vedette.errors import InputError
from vedette.types import Json

_WANTED = "must be an array of texts or of objects with a text"


@dataclass(frozen=True, slots=True)
class Document:
    """One candidate: its text, and its id where it has one."""

    text: str
    id: str | None = None


def parse_documents(value: Json, place: str) -> tuple[Document, ...]:
    """Documents from a list of texts, or of objects with `text` and perhaps `id`.

    A string is JSON, as in a CSV file. Raises `InputError` that names the first entry which is no
    document: one left out would be a hole in the ranking.
    """
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise InputError(f"{place} {_WANTED}; as a text it is not JSON: {error.msg}") from error
    if not isinstance(value, list):
        raise InputError(f"{place} {_WANTED}")
    return tuple(_document(entry, f"{place}[{i}]") for i, entry in enumerate(value))


def _document(entry: Json, place: str) -> Document:
    if isinstance(entry, str):
        return Document(entry)
    text = entry.get("text") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(text, str):
        raise InputError(f"{place} must be a text, or an object with a text")
    name = entry.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        raise InputError(f"{place}: the id must be a string or an integer")
    return Document(text, None if name is None else str(name))
