"""`vedette eval decide` and `vedette calibrate decide`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from vedette.cli.console import print_json
from vedette.cli.decide import questions_of
from vedette.cli.labelled_rows import LabelledRows
from vedette.cli.report_output import (
    check_page,
    print_report,
    teller,
    write_page,
    write_thresholds,
)

if TYPE_CHECKING:
    from vedette.decide.question import Question
    from vedette.evaluate.decide import Right
    from vedette.types import Item


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskedRows(LabelledRows):
    """Rows that know the right answers, and the questions."""

    ask: Annotated[list[str] | None, Parameter(negative=())] = None
    "A question, as for decide; may be given again. Rows have its answer in the field of its name."
    questions: str | None = None
    "A JSON file of questions, as for decide."
    both_orders: bool = False
    "Put each question with its answers in reverse too, and take the mean."

    def asked(self) -> tuple[Question, ...]:
        """The questions. Raises `InputError` where there is none."""
        from vedette.decide.question import check_ids

        asked = questions_of(self.ask, self.questions)
        check_ids(asked)
        return asked

    def rows(self, data: str, asked: tuple[Question, ...]) -> tuple[list[Item], Right]:
        """The rows in a random order, and what is right for each question."""
        from vedette.evaluate.decide import right_answers

        names = tuple(question.id for question in asked)
        items = self.chosen(self.source(data, names, needs_columns=False))
        return items, right_answers(asked, items)


def evaluate(
    *,
    data: str,
    prior: Literal["content-free", "none"] = "content-free",
    thresholds: str | None = None,
    html: str | None = None,
    rows: AskedRows | None = None,
) -> int:
    """Ask rows whose right answers are known, and report how good the answers are.

    Parameters
    ----------
    data
        Rows with a field for each question: {"text": ..., "angry": true, "team": "billing"}; a
        question whose field is null or missing is left out for that row.
    prior
        As for decide.
    thresholds
        A file that vedette calibrate decide wrote: the report says what it kept.
    html
        Write the report there too, as one page with plots.
    """
    from vedette.evaluate.decide import evaluate_decide
    from vedette.evaluate.html import page
    from vedette.tasks.calibrations import read_calibrations
    from vedette.tasks.decide import Decide

    check_page(html)
    rows = rows or AskedRows()
    job = Decide(
        questions=rows.asked(),
        prior=prior,
        both_orders=rows.both_orders,
        calibrations=read_calibrations(thresholds) if thresholds else None,
        instructions=rows.instructions,
    )
    items, right = rows.rows(data, job.questions)
    with rows.opened() as backend:
        reports = evaluate_decide(
            job,
            items,
            right,
            backend,
            model=backend.name,
            data=Path(data).name,
            tell=teller(rows.quiet),
        )
    if html:
        write_page(html, page(*reports))
    if rows.json:
        found = zip(job.questions, reports, strict=True)
        print_json({question.id: report.as_dict() for question, report in found})
        return 0
    for question, report in zip(job.questions, reports, strict=True):
        print(f"{question.id}: {question.instructions}")
        print_report(report)
    return 0


def calibrate(
    *,
    data: str,
    out: str,
    alpha: float = 0.05,
    delta: float = 0.05,
    per_class: bool = False,
    rows: AskedRows | None = None,
) -> int:
    """Find from labelled rows which answers to each question can be kept, and write that down.

    Of the answers to a question that the file keeps at most alpha are wrong, with a confidence of
    1 - delta, for rows like these. Answer with it: `vedette decide --thresholds FILE`.

    Parameters
    ----------
    data
        Rows with a field for each question: {"text": ..., "angry": true, "team": "billing"}; a
        question whose field is null or missing is left out for that row.
    out
        Where the threshold file is written.
    alpha
        The share of wrong answers among the kept ones that is promised.
    delta
        The chance that the promise is broken, over the choice of the labelled rows.
    per_class
        A threshold for each answer, so that the promise holds for each.
    """
    from vedette.decide.calibration import Promise
    from vedette.evaluate.decide import calibrate_decide
    from vedette.tasks.decide import Decide

    rows = rows or AskedRows()
    promise = Promise(alpha=alpha, delta=delta)
    promise.check()
    job = Decide(
        questions=rows.asked(), both_orders=rows.both_orders, instructions=rows.instructions
    )
    items, right = rows.rows(data, job.questions)
    with rows.opened() as backend:
        found = calibrate_decide(
            job, items, right, backend, promise, by_choice=per_class, tell=teller(rows.quiet)
        )
    write_thresholds(found, out, as_json=rows.json)
    return 0
