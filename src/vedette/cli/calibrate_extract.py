"""`vedette calibrate extract`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from vedette.cli.console import print_json
from vedette.cli.extract import asked_schema
from vedette.cli.job import read_text
from vedette.cli.labelled_rows import LabelledRows
from vedette.cli.report_output import check_file, tell_threshold, teller

if TYPE_CHECKING:
    from vedette.tasks.extract import Extract
    from vedette.types import Item, Json


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ObjectRows(LabelledRows):
    """Rows with the right object, and the schema; the options are those of extract."""

    schema: str | None = None
    "A file with a JSON Schema."
    fields: str | None = None
    'Instead of --schema: "level:INFO|WARN|ERROR, service:span, message".'
    verbatim: str | None = None
    "Top-level fields whose value must be copied from the text, separated by commas."
    value_field: str = "value"
    "Field that holds the right object."
    examples: str | None = None
    "A JSONL file of rows with right answers, shown to the model before the item."
    max_tokens: int | None = None
    "Most tokens of an answer; by default what the schema can need."
    prompt_schema: bool = True
    "Show the schema to the model; --prompt-schema=false leaves it out."

    def task(self) -> Extract:
        """The extraction that these rows are for."""
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
        from vedette.evaluate.calibrate_extract import values_of

        items = self.chosen(self.source(data, (self.value_field,)))
        return items, values_of(items, self.value_field, task)


def calibrate(
    *,
    data: str,
    out: str,
    alpha: float = 0.05,
    delta: float = 0.05,
    rows: ObjectRows | None = None,
) -> int:
    """Find from labelled rows which extracted objects can be kept, and write that down.

    Of the objects that the file keeps at most alpha are wrong, with a confidence of 1 - delta, for
    rows like these. Answer with it: `vedette extract --thresholds FILE`.

    Parameters
    ----------
    data
        Rows with their right object: {"text": ..., "value": {...}}.
    out
        Where the threshold file is written.
    alpha
        The share of wrong objects among the kept ones that is promised.
    delta
        The chance that the promise is broken, over the choice of the labelled rows.
    """
    from vedette.decide.calibration import Promise
    from vedette.evaluate.calibrate_extract import calibrate_extract

    rows = rows or ObjectRows()
    promise = Promise(alpha=alpha, delta=delta)
    promise.check()
    check_file(out)
    job = rows.task()
    items, right = rows.rows(data, job)
    with rows.opened() as backend:
        found = calibrate_extract(job, items, right, backend, promise, tell=teller(rows.quiet))
    found.write(out)
    if rows.json:
        print_json(found.as_dict())
        return 0
    tell_threshold("objects", found.threshold, promise)
    print(f"{found.n_rows:,} rows")
    print(f"written to {out}")
    sys.stdout.flush()
    return 0
