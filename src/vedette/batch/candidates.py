"""The rows of a source as the candidates of one query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vedette.errors import InputError
from vedette.types import Item, Json

from .inputs import STDIN, InputFile
from .rows import BadRow, Row
from .source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates(Source):
    """One item: the query, with all rows of the source in its column `column`.

    They are in memory at once. A row that cannot be read is the whole job's error, as a ranking
    without it would have a hole: `rows` raises it. So is a source without rows.
    """

    query: str
    column: str

    def check(self) -> tuple[InputFile, ...]:
        """See `Source.check`. Raises `InputError` too for files that have no row."""
        files = Source.check(self)
        if all(file.is_regular for file in files) and next(self._all(files), None) is None:
            raise self._nothing()
        return files

    def rows(self, *, known: Callable[[Item], bool] | None = None) -> Iterator[Row]:
        """The one row. Raises what `check` does, and the error of a bad candidate."""
        del known  # what is known are queries with all their candidates
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
        if not documents:
            raise self._nothing()  # of stdin or a pipe, which `check` cannot look into
        return documents

    def _nothing(self) -> InputError:
        places = ("stdin" if path == STDIN else path for path in self.paths)
        return InputError(
            f"there are no candidates in {', '.join(places)}",
            hint="give files with a text in each row or line",
        )
