"""`vedette models`: what can be named, and what is here."""

from __future__ import annotations

from vedette.cli.console import print_json, print_table
from vedette.models.catalogue import Listed, catalogue
from vedette.models.home import models_dir
from vedette.models.units import human_bytes


def models(*, json: bool = False) -> int:
    """List the models that vedette knows and those that are on this machine.

    Parameters
    ----------
    json
        One JSON array, for machines.
    """
    rows = catalogue()
    if json:
        print_json(rows)
        return 0
    print_table(
        ("name", "size", "licence", "architecture", "where"),
        [_cells(row) for row in rows],
        title=f"Fetched models are kept in {models_dir()}",
        right=("size",),
    )
    return 0


def _cells(row: Listed) -> tuple[str, str, str, str, str]:
    size = human_bytes(row.size_bytes)
    return row.name, size, row.licence, row.architecture or "see show", _where(row)


def _where(row: Listed) -> str:
    tuned = f", tuned copy ({row.tuned})" if row.tuned else ""
    return _place(row) + tuned


def _place(row: Listed) -> str:
    match row.place:
        case "here":
            return "here"
        case "hub cache":
            return "Hugging Face cache"
        case "partly here":
            return f"{100 * row.present_bytes // row.size_bytes}% here, pull goes on"
        case "not here":
            return "not here"
