"""Values of rows in the form of a schema, from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from vedette.backends.none import NoModel
from vedette.batch.single import answer_item
from vedette.tasks.clean import Clean as CleanTask
from vedette.tasks.clean import Defaults
from vedette.types import Item, Json

from .shared import Answerer, backend_of


def Clean(
    schema: Mapping[str, Any],
    *,
    rules_only: bool = False,
    defaults: Mapping[str, str | int] | None = None,
    instructions: str = "",
) -> CleanTask:
    """The clean task, for `map` over `Item`s with columns. `defaults`: order, decimal, ..."""
    return CleanTask(
        schema=schema,
        rules_only=rules_only,
        defaults=Defaults.of(defaults or {}),
        instructions=instructions,
    )


def clean(
    row: str | Mapping[str, Json],
    schema: Mapping[str, Any],
    *,
    rules_only: bool = False,
    defaults: Mapping[str, str | int] | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """The values of one row in the form that the schema says: `value`, `changes`, `unsettled`.

    With `rules_only` no model is loaded. `defaults` are those of the command line, such as
    `{"order": "dmy", "country": "DE"}`. Raises `SchemaError` for a schema that does not say what is
    to be done, `InputError` for a row that has none of its fields.
    """
    task = Clean(schema, rules_only=rules_only, defaults=defaults)
    item = Item(id="1", text=row) if isinstance(row, str) else Item(id="1", text="", columns=row)
    answering = NoModel() if rules_only else backend_of(model, backend)
    return cast(dict[str, Json], answer_item(task, item, answering).value)
