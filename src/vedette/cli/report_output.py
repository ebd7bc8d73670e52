"""Reports and thresholds for people: progress, tables, a page, sentences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vedette.cli.console import note, print_json, print_table
from vedette.errors import FileError

if TYPE_CHECKING:
    from vedette.decide.calibration import Promise
    from vedette.decide.risk import Threshold
    from vedette.evaluate.report import Report
    from vedette.tasks.calibrations import Calibrations

TELL_EVERY = 100  # rows
SHOWN_WRONG = 10


def teller(quiet: bool) -> Callable[[int, int], None]:
    """What tells how far a run is, now and then."""

    def tell(done: int, total: int) -> None:
        if done % TELL_EVERY == 0:
            note(f"{done:,} of {total:,} rows", quiet=quiet)

    return tell


def check_file(path: str) -> None:
    """Find out before minutes of work whether a file can be written. Raises `FileError`."""
    from vedette.batch.outputs import STDOUT, check_output, is_file

    if path == STDOUT or not is_file(path):
        raise FileError(f"cannot write {path}: it is no file", hint="name one")
    check_output(path)


def write_page(path: str, text: str) -> None:
    """Write a report's page. Raises `FileError`."""
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def print_report(report: Report) -> None:
    """The figures, the labels, and the surest of the wrong rows."""
    from vedette.evaluate.html import percent

    body = report.as_dict()
    lines = [
        ("rows", f"{body['n']:,}"),
        ("errors", f"{body['errors']:,}"),
        ("right", percent(report.accuracy)),
        *([] if report.mae is None else [("mean error in levels", f"{body['mae']}")]),
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


def write_thresholds(found: Calibrations, out: str, *, as_json: bool) -> None:
    """Write what was found to a threshold file, and say it. Raises `FileError`."""
    found.write(out)
    if as_json:
        print_json(found.as_dict())
    else:
        _tell_thresholds(found, out)


def tell_threshold(what: str, limit: Threshold | None, promise: Promise) -> None:
    """From where on what answers are kept, and what is promised of them."""
    told = f"at most {promise.alpha:.1%} wrong, {1 - promise.delta:.0%} sure"
    if limit is None:
        print(f"{what}: no threshold can promise {told}; nothing would be kept")
    else:
        print(
            f"{what}: kept over {limit.above:.3f}, {limit.coverage:.1%} of the rows "
            f"({limit.n_wrong} of {limit.n_kept} wrong); {told}"
        )


def _tell_thresholds(found: Calibrations, out: str) -> None:
    """What is kept of the answers to each question."""
    for name, one in found.questions.items():
        limits = one.by_choice if one.by_choice is not None else {name: one.threshold}
        for what, limit in limits.items():
            tell_threshold(what, limit, one.promise)
        print(f"{name}: temperature {one.temperature:.2f}, {one.n_rows:,} rows")
    print(f"written to {out}")
    sys.stdout.flush()
