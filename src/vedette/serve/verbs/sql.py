"""SQL for tables that a request describes: there is no database here, only their definitions."""

from __future__ import annotations

from vedette.tasks.sql.reflect import read_schema
from vedette.tasks.sql.sketch import Sketch
from vedette.tasks.sql.task import MAX_TOKENS, AskDatabase


def asking(*, tables: str, instructions: str = "", max_tokens: int = MAX_TOKENS) -> AskDatabase:
    """The sql task over SQLite's CREATE statements. Raises what `Sketch` and `AskDatabase` do."""
    sketch = Sketch(tables)
    return AskDatabase(
        database=sketch,
        schema=read_schema(sketch, max_values=0),
        instructions=instructions,
        max_tokens=max_tokens,
    )
