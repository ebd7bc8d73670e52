"""A row as text: to be compared, and to be shown to a model."""

from __future__ import annotations

from vedette.json_text import json_text
from vedette.tasks.dedupe import Normalise
from vedette.types import Item, Json


def compared(item: Item, fields: tuple[str, ...], normalise: Normalise) -> str:
    """The normalised text by which a row is compared: a line for each field."""
    if not fields:
        return normalise(item.text)
    return "\n".join(normalise(text_of_value(item.columns.get(name))) for name in fields)


def shown(item: Item, fields: tuple[str, ...]) -> str:
    """What the model reads: the text, or a JSON object of the fields that say something."""
    if not fields:
        return item.text
    values = {name: item.columns.get(name) for name in fields}
    return json_text({name: value for name, value in values.items() if value not in (None, "")})


def text_of_value(value: Json) -> str:
    """A field as text: null is empty, what is no string is written as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)
