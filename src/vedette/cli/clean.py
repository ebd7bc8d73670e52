"""`vedette clean`: rows whose values get the form that a schema says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.batch.source import Source


def clean(
    *paths: PathOrStdin,
    schema: str,
    rules_only: bool = False,
    order: Literal["dmy", "mdy", "ymd"] | None = None,
    pivot: int | None = None,
    zone: str | None = None,
    decimal: Literal[".", ","] | None = None,
    currency: str | None = None,
    country: str | None = None,
    sure_above: float = 0.7,
    instructions: str = "",
    options: JobOptions | None = None,
) -> int:
    """Bring dates, numbers, amounts, names and the like of each row into the form of a schema.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    schema
        A file with a JSON Schema; `x-clean` says by which rule a property is cleaned.
    rules_only
        Use rules alone; no model is loaded, and what they cannot settle stays open.
    order
        Order of day, month and year in dates of numbers; without it 03/04/2026 is ambiguous.
    pivot
        The last two-digit year that is 20xx; without it two-digit years are ambiguous.
    zone
        Time zone of times that have none: Z or +01:00.
    decimal
        The decimal mark; without it 1.234 is ambiguous.
    currency
        Currency (ISO 4217) of amounts without one, and what $ or another shared symbol means.
    country
        Country (ISO 3166-1) of telephone numbers without a country code.
    sure_above
        What the model chooses among the values of an enum needs a probability over this.
    instructions
        A sentence more for the model.
    """
    from vedette.cli.schema import read_schema
    from vedette.tasks.clean import Clean, Defaults

    check_paths(paths, clean)
    options = options or JobOptions()
    if options.text_field is not None:
        raise InputError(
            "--text-field has no effect here", hint="name fields in the schema: x-from"
        )
    defaults = Defaults(
        order=order or "",
        pivot=pivot,
        zone=zone or "",
        decimal=decimal or "",
        currency=currency or "",
        country=country or "",
    )
    task = Clean(
        schema=read_schema(schema),
        defaults=defaults,
        rules_only=rules_only,
        sure_above=sure_above,
        instructions=instructions,
    )
    source = _source(paths, options, task.sources)
    return run_job(task, paths, options, source=source, asks_model=not rules_only)


def _source(paths: tuple[str, ...], options: JobOptions, columns: tuple[str, ...]) -> Source:
    """Rows with these columns, or plain texts in which every field is looked for."""
    from dataclasses import replace

    from vedette.batch.inputs import resolve

    formats = {file.format for file in resolve(paths or ("-",), options.format)}
    if formats == {"lines"} or options.records != "line":
        columns = ()
    return replace(options.source(paths, columns), needs_text=False, needs_columns=False)
