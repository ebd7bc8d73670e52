"""A row of the input: an item that a task can answer, or a row that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vedette.errors import InputError, InputTooLong, VedetteError
from vedette.types import Item, Json

MAX_RECORD_BYTES = 16 * 1024 * 1024
"""A longer record becomes a bad row; its bytes are skipped, never held in memory."""

MISSING_SHOWN = 8  # how many of a row's own field names an error message lists


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that cannot become an item: its id (or number) and what is wrong with it.

    `picture_sha256` is the hash of the picture that it would have been, where there were bytes.
    """

    id: str
    error: VedetteError
    picture_sha256: str | None = None


Row: TypeAlias = Item | BadRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Which fields of a structured row are its text, its id and the columns that a task reads.

    `id` None means: the field `id` where a row has one, else the row's number. `text` None: a row
    needs no text. `whole`: the item has all fields of its row as columns. `lenient`: a header must
    name the `columns`, but a row of JSONL need have only one of them.
    """

    text: str | None = "text"
    id: str | None = None
    columns: tuple[str, ...] = ()
    whole: bool = False
    lenient: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The fields that a header must name."""
        named = (self.text, *self.columns, self.id)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def description(self) -> str:
        """What a row must be, for messages."""
        return "an object" if self.text is None else f"an object with a field {self.text!r}"

    def row(self, number: int, values: Mapping[str, Json], where: str) -> Row:
        """The row that these values make. `where` (file and line) opens every error message."""
        try:
            row_id = self._id(number, values)
        except InputError as error:
            return bad_row(number, f"{where}: {error.message}")
        needed = () if self.lenient else self.columns
        named = (self.text, *needed) if self.text is not None else needed
        missing = [name for name in named if name not in values]
        if missing:
            shown = ", ".join(map(repr, list(values)[:MISSING_SHOWN])) or "none"
            message = f"{where}: there is no field {missing[0]!r} (the row's fields: {shown})"
            return BadRow(id=row_id, error=InputError(message))
        if self.lenient and self.columns and not any(name in values for name in self.columns):
            shown = ", ".join(map(repr, self.columns[:MISSING_SHOWN]))
            return BadRow(
                id=row_id, error=InputError(f"{where}: there is none of the fields {shown}")
            )
        text = "" if self.text is None else values[self.text]
        if not isinstance(text, str):
            kind = json_kind(text)
            message = f"{where}: the field {self.text!r} is {kind}, not a string"
            return BadRow(id=row_id, error=InputError(message))
        names = (name for name in self.columns if name in values)
        columns = values if self.whole else {name: values[name] for name in names}
        return Item(id=row_id, text=text, columns=columns)

    def _id(self, number: int, values: Mapping[str, Json]) -> str:
        name = self.id or "id"
        if name not in values:
            if self.id is None:
                return str(number)
            raise InputError(f"there is no id field {name!r}")
        value = values[name]
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise InputError(f"the id field {name!r} is {json_kind(value)}, not a string or integer")


def bad_row(number: int, message: str, *, hint: str | None = None) -> BadRow:
    """A bad row that has no id of its own: it goes by its number."""
    return BadRow(id=str(number), error=InputError(message, hint=hint))


def too_long(number: int, where: str) -> BadRow:
    """A record beyond `MAX_RECORD_BYTES`."""
    limit = f"{MAX_RECORD_BYTES:,} bytes"
    error = InputTooLong(f"{where}: the record is longer than {limit}", hint="split it")
    return BadRow(id=str(number), error=error)


def not_utf8(number: int, where: str, error: UnicodeDecodeError) -> BadRow:
    """A record whose bytes are not text."""
    byte = error.object[error.start]
    message = f"{where}: not valid UTF-8 (byte 0x{byte:02x} at position {error.start})"
    return bad_row(number, message, hint="convert the file to UTF-8")


def json_kind(value: Json) -> str:
    """The JSON name of a value's type, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
