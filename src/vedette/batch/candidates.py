"""The rows of a source as the candidates of one query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vedette.types import Item, Json

from .rows import BadRow, Row
from .source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates(Source):
    """One item: the query, with all rows of the source in its column `column`.

    They are in memory at once. A row that cannot be read is the whole job's error, as a ranking
    without it would have a hole: `rows` raises it.
    """

    query: str
    column: str

    def rows(self) -> Iterator[Row]:
        """The one row. Raises what `Source.rows` does, and the error of a bad candidate."""
        yield Item(id="1", text=self.query, columns={self.column: self._documents()})

    def total(self) -> int:
        """There is one query."""
        return 1

    def _documents(self) -> list[Json]:
        documents: list[Json] = []
        for row in Source.rows(self):
            if isinstance(row, BadRow):
                raise row.error
            documents.append({"id": row.id, "text": row.text})
        return documents
