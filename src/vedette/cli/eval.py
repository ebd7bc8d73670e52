"""`vedette eval classify` and `vedette calibrate classify`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from vedette.cli.console import note, print_json
from vedette.cli.job import read_text
from vedette.cli.labelled_rows import LabelledRows
from vedette.cli.report_output import (
    check_page,
    print_report,
    teller,
    write_page,
    write_thresholds,
)

if TYPE_CHECKING:
    from vedette.tasks.calibrations import Calibrations
    from vedette.tasks.classifier import Prior
    from vedette.tasks.classify import Classify
    from vedette.tasks.nearest.task import Nearest
    from vedette.types import Item


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RowOptions(LabelledRows):
    """Rows with a label, and the labels."""

    labels: str | None = None
    "Labels separated by commas, or a file, as for classify; by default those of rows and examples."
    label_field: str = "label"
    "Field that holds the right label."
    examples: str | None = None
    "A JSONL file of rows with right labels, shown to the model before the item."
    method: Literal["auto", "score", "nearest"] = "auto"
    "Labels scored, or by the nearest examples, as for classify."
    out_of_scope: str = ""
    'A label of the rows that means "none of the others", as for classify.'

    def rows(self, data: str) -> tuple[list[Item], list[str]]:
        """The rows in a random order, and the right label of each."""
        from vedette.evaluate.rows import labels_of

        items = self.chosen(self.source(data, (self.label_field,)))
        return items, labels_of(items, self.label_field)

    def classify(
        self,
        right: list[str],
        items: list[Item],
        prior: Prior | None = None,
        calibrations: Calibrations | None = None,
    ) -> Classify | Nearest:
        """The classification that these rows are for."""
        from vedette.evaluate.rows import check_known
        from vedette.tasks.classifier import chosen_unasked, classifier
        from vedette.tasks.examples import label_examples
        from vedette.tasks.labels import Label, read_labels

        shown = self.examples
        rows = label_examples(read_text(shown, "examples"), shown) if shown else ()
        shown_labels = {label for row in rows for label in row.labels}
        seen = {*right, *shown_labels} - {self.out_of_scope}
        labels = (
            read_labels(self.labels)
            if self.labels is not None
            else tuple(Label(name) for name in sorted(seen))
        )
        task = classifier(
            labels,
            rows,
            method=self.method,
            prior=prior,
            instructions=self.instructions,
            out_of_scope=self.out_of_scope,
            calibrations=calibrations,
        )
        for line in chosen_unasked(task, self.method, self.out_of_scope):
            note(line, quiet=self.quiet)
        check_known(items, right, task.names)
        return task


def evaluate(
    *,
    data: str,
    prior: Literal["stream", "content-free", "none"] | None = None,
    thresholds: str | None = None,
    html: str | None = None,
    rows: RowOptions | None = None,
) -> int:
    """Classify rows whose right label is known, and report how good the answers are.

    Parameters
    ----------
    data
        Rows with their right label: {"text": ..., "label": ...}.
    prior
        As for classify.
    thresholds
        A file that vedette calibrate wrote: the report says what it kept.
    html
        Write the report there too, as one page with plots.
    """
    from vedette.evaluate.html import page
    from vedette.evaluate.run import evaluate_classify
    from vedette.tasks.calibrations import read_calibrations

    check_page(html)
    rows = rows or RowOptions()
    known = read_calibrations(thresholds) if thresholds else None
    items, right = rows.rows(data)
    job = rows.classify(right, items, prior, known)
    with rows.opened() as backend:
        report = evaluate_classify(
            job,
            items,
            right,
            backend,
            model=backend.name,
            data=Path(data).name,
            tell=teller(rows.quiet),
        )
    if html:
        write_page(html, page(report))
    if rows.json:
        print_json(report.as_dict())
    else:
        print_report(report)
    return 0


def calibrate(
    *,
    data: str,
    out: str,
    alpha: float = 0.05,
    delta: float = 0.05,
    per_class: bool = False,
    rows: RowOptions | None = None,
) -> int:
    """Find from labelled rows which labels can be kept, and write that down.

    Of the answers that the file keeps at most alpha are wrong, with a confidence of 1 - delta, for
    rows like these. Answer with it: `vedette classify --thresholds FILE`.

    Parameters
    ----------
    data
        Rows with their right label: {"text": ..., "label": ...}.
    out
        Where the threshold file is written.
    alpha
        The share of wrong answers among the kept ones that is promised.
    delta
        The chance that the promise is broken, over the choice of the labelled rows.
    per_class
        A threshold for each label, so that the promise holds for each.
    """
    from vedette.decide.calibration import Promise
    from vedette.evaluate.run import calibrate_classify

    rows = rows or RowOptions()
    items, right = rows.rows(data)
    job = rows.classify(right, items)
    promise = Promise(alpha=alpha, delta=delta)
    promise.check()
    with rows.opened() as backend:
        found = calibrate_classify(
            job, items, right, backend, promise, by_choice=per_class, tell=teller(rows.quiet)
        )
    write_thresholds(found, out, as_json=rows.json)
    return 0
