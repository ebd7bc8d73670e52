"""`vedette adapt TASK`: labelled rows to a LoRA adapter, kept if it is better."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App, Parameter

from vedette.cli.calibrate_extract import ObjectRows
from vedette.cli.console import complain, note, print_json, print_table
from vedette.cli.eval import RowOptions
from vedette.cli.eval_decide import AskedRows
from vedette.cli.labelled_rows import LabelledRows
from vedette.cli.report_output import check_file
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.adapt.report import Report
    from vedette.adapt.subjects import Subject
    from vedette.backends.local import LocalBackend
    from vedette.config import Settings

NOT_BETTER = 1  # exit code

app = App(name="adapt", help="Train a LoRA adapter on labelled rows; kept if it is better.")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """How it is trained."""

    hold_back: float = 0.2
    "Share of the rows that are not trained on: before and after are measured on these."
    epochs: int = 3
    "How often each row is trained on; the epoch with the least validation loss counts."
    rank: int = 16
    "Rank of the adapter."
    learning_rate: float = 1e-3
    "The most that the learning rate comes to."
    batch_rows: int = 4
    "Rows of a step."
    max_minutes: float = 20.0
    "Most minutes of training; what was best by then counts."
    length_tokens: int = 512
    "Rows whose prompt and answer take more are not trained on."


@app.command(name="extract", help="Rows with the object that is right.")
def adapt_extract(
    data: str, *, out: str, rows: ObjectRows | None = None, train: TrainOptions | None = None
) -> int:
    """Train a model on rows whose right object is known.

    Parameters
    ----------
    data
        Rows with their right object: {"text": ..., "value": {...}}.
    out
        Where the adapter is written, a GGUF file; its report goes beside it, as OUT.json.
    """
    from vedette.adapt.subjects import Extracted

    rows = rows or ObjectRows()
    task = rows.task()
    items, right = rows.rows(data, task)
    return _adapt(Extracted(task=task, items=items, right=right), data, out, rows, train)


@app.command(name="classify", help="Rows with a label.")
def adapt_classify(
    data: str, *, out: str, rows: RowOptions | None = None, train: TrainOptions | None = None
) -> int:
    """Train a model on rows whose right label is known.

    Parameters
    ----------
    data
        Rows with their right label: {"text": ..., "label": ...}.
    out
        Where the adapter is written, a GGUF file; its report goes beside it, as OUT.json.
    """
    from vedette.adapt.subjects import Labelled
    from vedette.tasks.classify import Classify

    rows = rows or RowOptions()
    items, right = rows.rows(data)
    task = rows.classify(right, items)
    if not isinstance(task, Classify):
        raise InputError(
            "labels by the nearest examples are no words of the model: there is nothing to train",
            hint="add --method score",
        )
    return _adapt(Labelled(task=task, items=items, right=right), data, out, rows, train)


@app.command(name="decide", help="Rows with answers to closed questions.")
def adapt_decide(
    data: str, *, out: str, rows: AskedRows | None = None, train: TrainOptions | None = None
) -> int:
    """Train a model on rows whose right answers are known.

    Parameters
    ----------
    data
        Rows with a field for each question: {"text": ..., "angry": true, "team": "billing"}; a
        question whose field is null or missing is left out for that row.
    out
        Where the adapter is written, a GGUF file; its report goes beside it, as OUT.json.
    """
    from vedette.adapt.subjects import Asked
    from vedette.tasks.decide import Decide

    rows = rows or AskedRows()
    task = Decide(
        questions=rows.asked(), both_orders=rows.both_orders, instructions=rows.instructions
    )
    items, right = rows.rows(data, task.questions)
    return _adapt(Asked(task=task, items=items, right=right), data, out, rows, train)


def _adapt(
    subject: Subject, data: str, out: str, rows: LabelledRows, train: TrainOptions | None
) -> int:
    from vedette.adapt.run import adapt
    from vedette.adapt.trainer import Options
    from vedette.cli.bench_run import stopped_by_sigterm

    train = train or TrainOptions()
    check_file(out)
    settings = _settings(rows)
    options = Options(
        rank=train.rank,
        epochs=train.epochs,
        batch_rows=train.batch_rows,
        learning_rate=train.learning_rate,
        max_minutes=train.max_minutes,
        length_tokens=train.length_tokens,
        seed=rows.seed,
        threads=settings.thread_count,
    )
    with stopped_by_sigterm():
        report = adapt(
            subject,
            settings.model,
            Path(data),
            Path(out),
            lambda: _opened(settings, quiet=rows.quiet),
            options,
            hold_back=train.hold_back,
            tell=lambda line: note(line, quiet=rows.quiet),
        )
    if rows.json:
        print_json(report.as_dict())
    else:
        _print(report)
    if report.is_kept:
        return 0
    complain(f"the adapter is not better than the plain model, so {out} is not written")
    return NOT_BETTER


def _settings(rows: LabelledRows) -> Settings:
    """The settings. Raises `InputError` where something else than the plain model would answer."""
    from vedette.backends.address import InProcess, parse_address

    settings = rows.settings()
    address = parse_address(settings.backend)
    if not isinstance(address, InProcess) or address.model is not None:
        raise InputError(
            f"adapt trains a model of this machine, and backend is {settings.backend!r}",
            hint="leave it out, and name the model by --model",
        )
    if settings.lora:
        raise InputError(
            f"adapt trains the plain model, and lora is {settings.lora!r}", hint="leave it out"
        )
    return settings


def _opened(settings: Settings, *, quiet: bool) -> LocalBackend:
    from vedette.backends.local import LocalBackend
    from vedette.cli.job import open_backend

    backend = open_backend(settings, quiet=quiet)
    assert isinstance(backend, LocalBackend)  # by `_settings`
    return backend


def _print(report: Report) -> None:
    before, after = report.verdict.before, report.verdict.after
    lines = [("answers", before.accuracy, after.accuracy)]
    lines += [(name, share, after.parts[name]) for name, share in before.parts.items()]
    print_table(
        ("right", "before", "after"),
        [(name, f"{old:.1%}", f"{new:.1%}") for name, old, new in lines],
        right=("before", "after"),
    )
    print(f"{report.verdict.sentence}.")
    if report.is_kept:
        print(f"written to {report.out}, its report to {report.out}.json")
