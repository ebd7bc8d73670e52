"""What a job is: a task, the rows it is done to, and where the results go."""

from __future__ import annotations

import os
from dataclasses import dataclass

from vedette.backends.base import Backend
from vedette.errors import FileError, InputError
from vedette.tasks.base import Task

from .drive import RETRY_AFTER_S
from .outputs import Sink, check_output, is_file
from .source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A task over the rows of a source.

    `out` is a file (its journal is `<out>.journal` unless `journal` names another) or `-` for
    stdout, which has a journal only when one is named. `workers` None means the backend's width.
    `retry_failed` asks rows again that ended in an error; `fresh` forgets earlier runs. `into`
    takes the results too, and is closed with the job.
    """

    source: Source
    task: Task
    backend: Backend
    out: str = "-"
    journal: str | None = None
    workers: int | None = None
    retry_failed: bool = False
    fresh: bool = False
    retry_after_s: tuple[float, ...] = RETRY_AFTER_S
    into: Sink | None = None


def check(
    source: Source, out: str = "-", journal: str | None = None, retry_failed: bool = False
) -> None:
    """Find what is wrong with a job's files before a model is loaded for it.

    Raises `FileError` or `InputError`; creates the folder of the output if it is missing.
    """
    files = source.check()
    check_output(out)
    path = journal_path(out, journal)
    if retry_failed and path is None:
        raise InputError(
            "--retry-failed asks the error rows of an earlier run again, and there is no journal",
            hint="name the --out or --journal of that run",
        )
    if path is not None:
        check_output(path)
    for target in (target for target in (out, path) if target and is_file(target)):
        if any(os.path.exists(file.path) and _is_same(target, file.path) for file in files):
            raise FileError(f"{target} is both input and output", hint="choose another --out")


def journal_path(out: str, journal: str | None = None) -> str | None:
    """Where the journal of an output is, or None when it has none."""
    return journal or (f"{out}.journal" if is_file(out) else None)


def _is_same(target: str, path: str) -> bool:
    return os.path.exists(target) and os.path.samefile(target, path)
