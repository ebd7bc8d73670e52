"""`vedette config`: what is set, and where each value came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from vedette.cli.console import print_json, print_table
from vedette.config import Settings, load, names

app = App(name="config", help="Show settings and where each value came from.")


@app.command
def show(
    *,
    origin: Annotated[bool, Parameter(help="Say where each value came from.")] = False,
    json: Annotated[bool, Parameter(help="Print JSON.")] = False,
) -> int:
    """Show every setting with the value that a command started here would use."""
    settings = load()
    if json:
        print_json(_as_json(settings, with_origin=origin))
        return 0
    columns = ["setting", "value", *(["origin"] if origin else [])]
    rows = [
        [name, _readable(settings, name), *([settings.origin(name)] if origin else [])]
        for name in names()
    ]
    print_table(columns, rows)
    return 0


def _as_json(settings: Settings, *, with_origin: bool) -> dict[str, object]:
    values = {name: _plain(getattr(settings, name)) for name in names()}
    if not with_origin:
        return dict(values)
    return {name: {"value": values[name], "origin": settings.origin(name)} for name in names()}


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _readable(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if name == "threads" and value is None:
        return f"auto ({settings.thread_count})"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "auto" if value is None else str(value)
