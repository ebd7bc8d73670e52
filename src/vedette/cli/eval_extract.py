"""`vedette eval extract`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from vedette.cli.console import print_json, print_table
from vedette.cli.extract import asked_schema
from vedette.cli.job import read_text
from vedette.cli.labelled_rows import LabelledRows
from vedette.cli.report_output import SHOWN_WRONG, teller

if TYPE_CHECKING:
    from vedette.evaluate.extract import ExtractReport
    from vedette.tasks.extract import Extract
    from vedette.types import Item, Json


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ValueRows(LabelledRows):
    """Rows with the object that is right, and the extraction."""

    schema: str | None = None
    "A file with a JSON Schema."
    fields: str | None = None
    "Instead of --schema, as for extract."
    verbatim: str | None = None
    "Names of top-level fields whose value must be copied from the text, separated by commas."
    value_field: str = "value"
    "Field that holds the right object."
    examples: str | None = None
    "A JSONL file of rows with right answers, shown to the model before the item."
    max_tokens: int | None = None
    "Most tokens of an answer; by default what the schema can need."
    prompt_schema: bool = True
    "Show the schema to the model; --prompt-schema=false leaves it out, for fine-tuned models."

    def task(self) -> Extract:
        """The extraction that these rows are for. Raises `InputError` without a schema."""
        from vedette.tasks.examples import extract_examples
        from vedette.tasks.extract import Extract

        shown = self.examples
        return Extract(
            schema=asked_schema(self.schema, self.fields, self.verbatim),
            examples=extract_examples(read_text(shown, "examples"), shown) if shown else (),
            instructions=self.instructions,
            max_tokens=self.max_tokens,
            prompt_schema=self.prompt_schema,
        )

    def rows(self, data: str, task: Extract) -> tuple[list[Item], list[Json]]:
        """The rows in a random order, and the right object of each."""
        from vedette.evaluate.extract import right_values

        items = self.chosen(self.source(data, (self.value_field,)))
        return items, right_values(items, self.value_field, task)


def evaluate(*, data: str, rows: ValueRows | None = None) -> int:
    """Extract from rows whose right object is known, and report how good the answers are.

    Parameters
    ----------
    data
        Rows with their right object: {"text": ..., "value": {...}}.
    """
    from vedette.evaluate.extract import evaluate_extract

    rows = rows or ValueRows()
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
