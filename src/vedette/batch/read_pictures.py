"""Pictures as rows: where one is, then the picture itself, then the text that is read off it.

Or no text: what a model is shown itself goes by a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vedette.errors import InputError, PictureError, RequestError
from vedette.pictures.fetch import Fetch
from vedette.pictures.loading import load
from vedette.pictures.marks import mark_of
from vedette.pictures.ocr import Ocr
from vedette.types import Item, Json, Reading

from .rows import BadRow, Row, json_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRow:
    """A row whose picture is not loaded yet: a path, a data URL or a URL, and other columns."""

    id: str
    place: str
    columns: Mapping[str, Json] = field(default_factory=dict)

    def loaded(self, fetch: Fetch | None) -> Row:
        """The item, its picture still to be read; a bad row if there is no usable picture."""
        try:
            picture = load(self.place, fetch=fetch)
        except PictureError as error:
            return BadRow(id=self.id, error=error, picture_sha256=error.sha256)
        return Item(id=self.id, text="", columns=self.columns, picture=picture)


def in_field(rows: Iterable[Row], name: str, *, keep: bool) -> Iterator[Row | PictureRow]:
    """Structured rows, of which the field `name` says where the picture is.

    The field is no column of the item's unless `keep` says that the task reads it too.
    """
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        place = row.columns.get(name)
        if not isinstance(place, str):
            message = f"the field {name!r} is {json_kind(place)}, not a path, data URL or URL"
            yield BadRow(id=row.id, error=InputError(message))
            continue
        columns = row.columns if keep else {k: v for k, v in row.columns.items() if k != name}
        yield PictureRow(id=row.id, place=place, columns=columns)


def read_rows(
    rows: Iterable[Row | PictureRow],
    ocr: Ocr,
    *,
    fetch: Fetch | None = None,
    known: Callable[[Item], bool] | None = None,
) -> Iterator[Row]:
    """The rows with the text of their pictures.

    One that is `known` has its answer already: it is loaded, as its hash is what it is known by,
    and not read.
    """
    for row in rows:
        if isinstance(row, PictureRow):
            row = row.loaded(fetch)
        if isinstance(row, Item) and row.picture is not None and not (known and known(row)):
            row = _read(row, ocr)
        yield row


def shown_rows(rows: Iterable[Row | PictureRow], *, fetch: Fetch | None = None) -> Iterator[Row]:
    """The rows, a mark in the place of each picture that the model is to be shown itself."""
    for row in rows:
        if isinstance(row, PictureRow):
            row = row.loaded(fetch)
        if isinstance(row, Item) and row.picture is not None:
            reading = Reading(sha256=row.picture.sha256, read_by="projector")
            row = replace(row, text=mark_of(row.picture), reading=reading)
        yield row


def _read(item: Item, ocr: Ocr) -> Row:
    try:
        return read_item(item, ocr)
    except RequestError as error:
        return BadRow(id=item.id, error=error, picture_sha256=item.picture_sha256)


def read_item(item: Item, ocr: Ocr) -> Item:
    """The item with the text of its picture, which is let go. Raises `EngineFailed`."""
    if item.picture is None:
        return item
    page = ocr.read(item.picture)
    reading = Reading(
        sha256=item.picture.sha256,
        text=page.text,
        lines=len(page.lines),
        confidence=page.confidence,
        unsure_lines=page.n_unsure,
    )
    return replace(item, text=page.text, picture=None, reading=reading)
