"""`vedette eval extract`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vedette.cli.calibrate_extract import ObjectRows
from vedette.cli.console import print_json, print_table
from vedette.cli.report_output import SHOWN_WRONG, teller

if TYPE_CHECKING:
    from vedette.evaluate.extract import ExtractReport


def evaluate(*, data: str, rows: ObjectRows | None = None) -> int:
    """Extract from rows whose right object is known, and report how good the answers are.

    Parameters
    ----------
    data
        Rows with their right object: {"text": ..., "value": {...}}.
    """
    from vedette.evaluate.extract import evaluate_extract

    rows = rows or ObjectRows()
    task = rows.task()
    items, right = rows.rows(data, task)
    with rows.opened() as backend:
        report = evaluate_extract(
            task,
            items,
            right,
            backend,
            model=backend.name,
            data=Path(data).name,
            tell=teller(rows.quiet),
        )
    if rows.json:
        print_json(report.as_dict())
    else:
        _print(report)
    return 0


def _print(report: ExtractReport) -> None:
    from vedette.json_text import json_text

    body = report.as_dict()
    print_table(
        ("what", "is"),
        [
            ("rows", f"{body['n']:,}"),
            ("errors", f"{body['errors']:,}"),
            ("right", f"{report.accuracy:.1%}"),
            *((f"right {name}", f"{share:.1%}") for name, share in report.fields.items()),
            ("rows/s", f"{body['items_per_s']}"),
            ("tokens computed", f"{body['tokens']:,}"),
        ],
    )
    shown = report.wrong[:SHOWN_WRONG]
    if shown:
        print_table(
            ("wrong", "right", "answer"),
            [
                (f"{v.id}: {v.text[:40]}", json_text(v.right), v.error or json_text(v.answer))
                for v in shown
            ],
        )
