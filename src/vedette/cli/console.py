"""What every verb needs to speak: to people on a terminal, in plain lines to a pipe, in JSON.

Results go to stdout, all else to stderr. Colour follows `NO_COLOR` and `FORCE_COLOR` as rich
reads them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads this stream; a closed or missing one has no reader."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def stdout() -> Console:
    """A rich console for results."""
    from rich.console import Console

    return Console(highlight=False)


def stderr(*, quiet: bool = False) -> Console:
    """A rich console for progress and notes; it prints nothing if `quiet`."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, quiet=quiet)


def note(message: str, *, quiet: bool = False) -> None:
    """One line about what is going on, to stderr, unless `--quiet`."""
    if not quiet:
        print(message, file=sys.stderr, flush=True)


def complain(message: str, hint: str | None = None) -> None:
    """One line about what went wrong, to stderr: `vedette: <message>. <hint>`. Never silenced."""
    parts = [" ".join(part.split()) for part in (message, hint or "")]
    text = " ".join(
        part if part.endswith((".", "?", "!")) else f"{part}." for part in parts if part
    )
    print(f"vedette: {text}", file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """A value as indented JSON to stdout; dataclasses become objects, paths strings."""
    import orjson

    encoded = orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2)
    print(encoded.decode(), flush=True)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    right: Collection[str] = (),
) -> None:
    """A table to stdout: rich on a terminal, aligned plain text otherwise, never cut there.

    `right` names the columns to be aligned right. Each row has one cell for each column.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout):
        _print_rich(columns, cells, title, right)
    else:
        _print_plain(columns, cells, title, right)


def _print_rich(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, right: Collection[str]
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: a "[" in a value is no markup
    stdout().print(table)


def _print_plain(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, right: Collection[str]
) -> None:
    from rich.cells import cell_len

    if title:
        print(title)
    lines = [columns, *rows]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = []
        for name, cell, width in zip(columns, line, widths, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(space + cell if name in right else cell + space)
        print("  ".join(padded).rstrip())
