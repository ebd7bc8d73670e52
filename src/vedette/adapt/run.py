"""The whole way: lessons, marks before, training, the file, marks after, the verdict."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from vedette.backends.adapted import Adapted
from vedette.backends.local import LocalBackend
from vedette.errors import FileError, InputError
from vedette.models.adapter_writer import write_adapter
from vedette.models.atomic import write_json
from vedette.models.fingerprint import file_sha256
from vedette.models.gguf_header import read_header
from vedette.models.locate import locate

from .architectures import as_in_gguf, base_of
from .lessons import LeftOut, Lesson, lessons_of
from .report import Report, Source
from .split import Split, split_rows
from .subjects import Marks, Subject
from .trainer import Options, Tell, Trained, check_extra, train
from .verdict import Verdict

ADAPTER = "adapted"
TELL_EVERY = 50  # rows
SHOWN_LEFT_OUT = 5
Opened: TypeAlias = Callable[[], LocalBackend]


def report_path(out: Path) -> Path:
    """Where the report of an adapter is."""
    return out.with_name(f"{out.name}.json")


@dataclass(slots=True)
class _Clock:
    """Wall time by what it was spent on."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[what] = time.perf_counter() - started


def adapt(
    subject: Subject,
    model: str,
    data: Path,
    out: Path,
    opened: Opened,
    options: Options,
    *,
    hold_back: float = 0.2,
    tell: Tell = lambda line: None,
) -> Report:
    """Train on a part of the rows; keep the adapter at `out` if the held-back rows gain by it.

    `model` is trained, and `opened` opens it (or its tuned copy) to answer; only one of these is in
    memory at a time. Where more answers are right than before, `out` and the report beside it are
    written, else neither. Raises `CapabilityMissing` without the extra and for a model that cannot
    be trained, `InputError` for rows that are too few or teach nothing, `EngineFailed` where the
    training fails, `FileError`.
    """
    check_extra()
    weights = locate(model)
    base = base_of(read_header(weights.path), weights.name)
    source = Source(
        model=weights.name,
        model_sha256=weights.sha256 or file_sha256(weights.path),
        data=data.name,
        data_sha256=file_sha256(data),
        is_packed=base.is_packed,
    )
    split = split_rows([item.text for item in subject.items], hold_back)
    clock = _Clock()
    tell(_about(source, split))
    with closing(opened()) as backend:
        training, out_of_training = lessons_of(
            subject, split.training, backend, options.length_tokens
        )
        validation, out_of_validation = lessons_of(
            subject, split.validation, backend, options.length_tokens
        )
        left_out = (*out_of_training, *out_of_validation)
        _check_taught(training, validation, left_out)
        _tell_left_out(left_out, tell)
        answered_by = backend.name
        with clock("before"):
            before = _marks(subject, split, backend, is_adapted=False, tell=tell)
    with tempfile.TemporaryDirectory(prefix="vedette-adapt-") as folder, clock("training"):
        trained = train(weights.path, training, validation, options, Path(folder), tell)
    _tell_trained(trained, options, tell)
    beside = out.with_name(f".{out.name}.{os.getpid()}.gguf")
    try:
        write_adapter(
            beside,
            base.architecture,
            as_in_gguf(trained.factors, base),
            alpha=options.alpha,
            name=out.stem,
            task_name=subject.name,
            base_name=weights.name,
        )
        with closing(opened()) as local, clock("after"):
            local.add_adapter(ADAPTER, beside)
            after = _marks(
                subject, split, Adapted(local, ((ADAPTER, 1.0),)), is_adapted=True, tell=tell
            )
        report = Report(
            task=subject.name,
            identity=subject.task.identity,
            source=source,
            answered_by=answered_by,
            options=options,
            split=split,
            n_lessons=len(training),
            left_out=left_out,
            trained=trained,
            verdict=Verdict(before, after),
            seconds=clock.seconds,
            out=str(out),
        )
        return _kept(report, beside, out) if report.is_better else report
    finally:
        beside.unlink(missing_ok=True)


def _kept(report: Report, beside: Path, out: Path) -> Report:
    """Put the adapter and its report in place."""
    report = replace(
        report, adapter_sha256=file_sha256(beside), adapter_bytes=beside.stat().st_size
    )
    try:
        write_json(report_path(out), report.as_dict())
        beside.replace(out)
    except OSError as error:
        raise FileError(f"cannot write {out}: {error.strerror}") from error
    return report


def _marks(
    subject: Subject,
    split: Split,
    backend: LocalBackend | Adapted,
    *,
    is_adapted: bool,
    tell: Tell,
) -> Marks:
    which = "after" if is_adapted else "before"

    def told(done: int, total: int) -> None:
        if done % TELL_EVERY == 0:
            tell(f"{which}: {done:,} of {total:,} held-back rows answered")

    return subject.marks(split.held_back, backend, is_adapted=is_adapted, tell=told)


def _check_taught(
    training: Sequence[Lesson], validation: Sequence[Lesson], left_out: Sequence[LeftOut]
) -> None:
    if training and validation:
        return
    part = "training" if not training else "choosing the best epoch"
    why = f"; row {left_out[0].row}: {left_out[0].why}" if left_out else ""
    raise InputError(f"no row is left for {part}{why}")


def _about(source: Source, split: Split) -> str:
    packed = (
        ", its packed weights unpacked for it; the adapter is applied to the packed ones"
        if source.is_packed
        else ""
    )
    return (
        f"{len(split.training):,} rows to train {source.model} on{packed}; "
        f"{len(split.validation):,} to choose the best epoch, {len(split.held_back):,} held back"
    )


def _tell_left_out(left_out: Sequence[LeftOut], tell: Tell) -> None:
    if not left_out:
        return
    tell(f"{len(left_out):,} of the rows cannot be trained on:")
    for one in left_out[:SHOWN_LEFT_OUT]:
        tell(f"  row {one.row}: {one.why}")
    if len(left_out) > SHOWN_LEFT_OUT:
        tell(f"  and {len(left_out) - SHOWN_LEFT_OUT:,} more, all in the report")


def _tell_trained(trained: Trained, options: Options, tell: Tell) -> None:
    if trained.is_cut:
        tell(f"stopped after {options.max_minutes:g} minutes, before the epochs were over")
    if trained.best_epoch == 0:
        tell("no epoch was better than the model as it was; nothing is learnt")
    else:
        tell(f"epoch {trained.best_epoch} is the best by its validation loss")
