"""`vedette eval` and `vedette calibrate`: labelled rows to a report, or to a threshold file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from vedette.cli.console import note, print_json, print_table
from vedette.cli.job import open_backend, read_text
from vedette.config import Settings, load
from vedette.errors import FileError, InputError

if TYPE_CHECKING:
    from vedette.evaluate.report import Report
    from vedette.tasks.calibrations import Calibrations
    from vedette.tasks.classifier import Prior
    from vedette.tasks.classify import Classify
    from vedette.tasks.nearest.task import Nearest
    from vedette.types import Item

TELL_EVERY = 100  # rows
SHOWN_WRONG = 10


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Labelled rows, and the model that answers them."""

    labels: str | None = None
    "Labels separated by commas, or a file, as for classify; by default those of rows and examples."
    label_field: str = "label"
    "Field that holds the right label."
    text_field: str | None = None
    "Field that holds the text (text)."
    examples: str | None = None
    "A JSONL file of rows with right labels, shown to the model before the item."
    method: Literal["auto", "score", "nearest"] = "auto"
    "Labels scored, or by the nearest examples, as for classify."
    out_of_scope: str = ""
    'A label of the rows that means "none of the others", as for classify.'
    instructions: str = ""
    "A sentence more for the model."
    limit: int | None = None
    "Only N rows, chosen at random and always the same."
    seed: int = 0
    "Of the choice and of the order in which rows are asked."
    model: str | None = None
    "Name, hf:user/repo:QUANT or path of the weights."
    backend: str | None = None
    "Who answers: local, llama-server:URL, llama-server:[PROGRAM@]MODEL, openai:URL#MODEL."
    width: int | None = None
    "Most sequences in one batch."
    threads: int | None = None
    "CPU threads."
    offline: bool | None = None
    "Never use the network."
    json: bool = False
    "One JSON object, for machines."
    quiet: bool = False
    "No progress."

    def settings(self) -> Settings:
        """The settings under these options."""
        return load(
            model=self.model,
            backend=self.backend,
            width=self.width,
            threads=self.threads,
            offline=self.offline,
        )

    def rows(self, data: str) -> tuple[list[Item], list[str]]:
        """The rows in a random order, and the right label of each."""
        from vedette.batch.source import Source
        from vedette.evaluate.rows import labelled_rows, labels_of, shuffled

        if self.limit is not None and self.limit < 1:
            raise InputError(f"--limit is {self.limit}; it must be at least 1")
        source = Source(paths=(data,), text_field=self.text_field, columns=(self.label_field,))
        items = shuffled(labelled_rows(source, self.label_field), self.seed)[: self.limit]
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
        from vedette.tasks.classifier import classifier
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
        check_known(items, right, task.names)
        return task


def evaluate(
    task: Literal["classify"],
    *,
    data: str,
    prior: Literal["stream", "content-free", "none"] | None = None,
    thresholds: str | None = None,
    html: str | None = None,
    rows: RowOptions | None = None,
) -> int:
    """Answer rows whose right answer is known, and report how good the answers are.

    Parameters
    ----------
    task
        What is done to the rows.
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

    rows = rows or RowOptions()
    known = read_calibrations(thresholds) if thresholds else None
    items, right = rows.rows(data)
    job = rows.classify(right, items, prior, known)
    backend = open_backend(rows.settings(), quiet=rows.quiet)
    try:
        report = evaluate_classify(
            job,
            items,
            right,
            backend,
            model=backend.name,
            data=Path(data).name,
            tell=_teller(rows.quiet),
        )
    finally:
        backend.close()
    if html:
        _write(html, page(report))
    if rows.json:
        print_json(report.as_dict())
    else:
        _print(report)
    return 0


def calibrate(
    task: Literal["classify"],
    *,
    data: str,
    out: str,
    alpha: float = 0.05,
    delta: float = 0.05,
    per_class: bool = False,
    rows: RowOptions | None = None,
) -> int:
    """Find from labelled rows which answers can be kept, and write that down.

    Of the answers that the file keeps at most alpha are wrong, with a confidence of 1 - delta, for
    rows like these. Answer with it: `vedette classify --thresholds FILE`.

    Parameters
    ----------
    task
        What is done to the rows.
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
    backend = open_backend(rows.settings(), quiet=rows.quiet)
    try:
        found = calibrate_classify(
            job, items, right, backend, promise, by_choice=per_class, tell=_teller(rows.quiet)
        )
    finally:
        backend.close()
    found.write(out)
    if rows.json:
        print_json(found.as_dict())
    else:
        _tell_thresholds(found, out)
    return 0


def _teller(quiet: bool) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if done % TELL_EVERY == 0:
            note(f"{done:,} of {total:,} rows", quiet=quiet)

    return tell


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def _print(report: Report) -> None:
    from vedette.evaluate.html import percent

    body = report.as_dict()
    lines = [
        ("rows", f"{body['n']:,}"),
        ("errors", f"{body['errors']:,}"),
        ("right", percent(report.accuracy)),
        ("calibration error", f"{body['ece']}"),
        ("rows/s", f"{body['items_per_s']}"),
        ("tokens computed", f"{body['tokens']:,}"),
    ]
    if report.kept is not None:
        lines += [
            ("kept", percent(report.kept.coverage)),
            ("wrong of these", percent(report.kept.error) or "none kept"),
        ]
    print_table(("what", "is"), lines)
    print_table(
        ("label", "rows", "answered", "precision", "recall", "F1"),
        [
            (c.label, c.n, c.answered, percent(c.precision), percent(c.recall), percent(c.f1))
            for c in report.classes
        ],
        right=("rows", "answered", "precision", "recall", "F1"),
    )
    shown = report.wrong[:SHOWN_WRONG]
    if shown:
        print_table(
            ("wrong, surest first", "right", "answer", "confidence"),
            [(f"{v.id}: {v.text[:60]}", v.right, v.answer, percent(v.confidence)) for v in shown],
        )
    sys.stdout.flush()


def _tell_thresholds(found: Calibrations, out: str) -> None:
    for name, one in found.questions.items():
        promise = f"at most {one.promise.alpha:.1%} wrong, {1 - one.promise.delta:.0%} sure"
        limits = one.by_choice if one.by_choice is not None else {name: one.threshold}
        for what, limit in limits.items():
            if limit is None:
                print(f"{what}: no threshold can promise {promise}; nothing would be kept")
            else:
                print(
                    f"{what}: kept over {limit.above:.3f}, {limit.coverage:.1%} of the rows "
                    f"({limit.n_wrong} of {limit.n_kept} wrong); {promise}"
                )
        print(f"temperature {one.temperature:.2f}, {one.n_rows:,} rows; written to {out}")
    sys.stdout.flush()
