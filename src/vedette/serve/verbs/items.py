"""Inputs of a request as items of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vedette.config import nearest
from vedette.errors import InputError
from vedette.tasks.conversation import split_messages
from vedette.types import Item, Json

STRING: Mapping[str, Any] = {"type": "string"}
ID: Mapping[str, Any] = {
    "type": ["string", "integer"],
    "description": "Names the result; its number without.",
}
_MESSAGES: Mapping[str, Any] = {
    "type": "array",
    "items": {"type": "object"},
    "description": "A conversation in place of text and history; its last message is the question.",
}


@dataclass(frozen=True, slots=True)
class ItemForm:
    """What an input is: a text, or an object with the text under `text` and `columns`.

    `columns` has the JSON Schema of each. `needed` are those that must be there; then a bare text
    is no input. With `any_column` the object is a row of any fields, all of them columns.
    `history` is the column that `messages` may stand for.
    """

    text: str = "text"
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    any_column: bool = False
    history: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an input."""
        row = self._row_schema()
        return row if self.needed else {"anyOf": [{"type": "string"}, row]}

    def _row_schema(self) -> dict[str, Any]:
        if self.any_column:
            return {"type": "object", "properties": {"id": dict(ID)}}
        properties = {"id": ID, self.text: STRING, **self.columns}
        row: dict[str, Any] = {
            "type": "object",
            "properties": {name: dict(one) for name, one in properties.items()},
            "required": [self.text, *self.needed],
            "additionalProperties": False,
        }
        if self.history:
            row["properties"]["messages"] = dict(_MESSAGES)
            del row["required"]
        return row

    def item(self, value: Json, number: int) -> Item:
        """The item of an input, counted from 1. Raises `InputError` that says what it must be."""
        if isinstance(value, str):
            if self.needed:
                raise InputError(f"an input must be an object with {self._must_have}")
            return Item(id=str(number), text=value)
        if not isinstance(value, dict):
            raise InputError("an input must be a text or an object")
        name = value.get("id", number)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InputError("the id of an input must be a string or an integer")
        if self.any_column:
            if not value:
                raise InputError("an input has no fields")
            return Item(id=str(name), text="", columns=value)
        return self._row(str(name), value)

    def _row(self, name: str, value: Mapping[str, Json]) -> Item:
        columns: dict[str, Json] = {key: value[key] for key in self.columns if key in value}
        valid = ["id", self.text, *self.columns]
        if self.history and self.text not in value and "messages" in value:
            text, columns[self.history] = split_messages(value["messages"])
            valid = ["id", "messages"]
        else:
            _check_known(value, valid)
            given = value.get(self.text)
            if not isinstance(given, str):
                raise InputError(f"an input must have {self._must_have}; {self.text} is a text")
            text = given
        _check_known(value, valid)
        missing = next((key for key in self.needed if key not in columns), None)
        if missing is not None:
            raise InputError(f"an input must have {self._must_have}; {missing} is missing")
        return Item(id=name, text=text, columns=columns)

    @property
    def _must_have(self) -> str:
        return " and ".join((self.text, *self.needed))


def _check_known(value: Mapping[str, Json], valid: Sequence[str]) -> None:
    for key in value:
        if key not in valid:
            meant = nearest(key, valid)
            hint = f"did you mean {meant}?" if meant else f"it may have {', '.join(valid)}"
            raise InputError(f"an input has no {key!r}", hint=hint)
