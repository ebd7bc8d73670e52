"""Rows that are conversations: the last message is the text, the messages before it its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vedette.errors import InputError
from vedette.tasks.conversation import split_messages
from vedette.types import Item, Json

from .rows import Fields, Row, bad_row
from .source import Source

MESSAGES = "messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChatFields(Fields):
    history: str

    def row(self, number: int, values: Mapping[str, Json], where: str) -> Row:
        """See `Fields.row`; a row with `messages` in place of a text is a conversation."""
        if self.text is None or self.text in values or self.columns or MESSAGES not in values:
            return Fields.row(self, number, values, where)
        try:
            text, history = split_messages(values[MESSAGES])
        except InputError as error:
            return bad_row(number, f"{where}: {error.message}")
        row = Fields.row(self, number, {**values, self.text: text}, where)
        return replace(row, columns={self.history: history}) if isinstance(row, Item) else row


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations(Source):
    """A source whose rows may hold `messages` instead of a text.

    Of such a row the item has the last message as its text, and the others in its column
    `history_column`. Where `columns` are named, rows are taken as any others.
    """

    history_column: str

    @property
    def fields(self) -> Fields:
        """See `Source.fields`."""
        return _ChatFields(
            text=self.text_field or "text",
            id=self.id_field,
            columns=self.columns,
            history=self.history_column,
        )
