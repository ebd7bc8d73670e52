"""What every task verb does with a task: options, a backend, a batch, a summary."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from vedette.cli.console import is_terminal, note, print_json, stderr
from vedette.cli.escalation import EscalationOptions
from vedette.config import Settings, load
from vedette.errors import FileError, InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.batch.outputs import Sink
    from vedette.batch.source import Source
    from vedette.tasks.base import Task


# A lone - is stdin. cyclopts then takes unknown options for paths too: see `check_paths`.
PathOrStdin = Annotated[str, Parameter(allow_leading_hyphen=True)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of every verb that answers many rows."""

    model: str | None = None
    "Name, hf:user/repo:QUANT or path of the weights."
    backend: str | None = None
    "Who answers: local, llama-server:URL, llama-server:[PROGRAM@]MODEL, openai:URL#MODEL."
    lora: tuple[str, ...] = ()
    "A LoRA adapter for all rows: NAME=PATH or NAME=PATH:SCALE; may be given again."
    out: str = "-"
    "File for the result lines (a journal beside it makes the run resumable); - is stdout."
    format: Literal["auto", "jsonl", "csv", "lines", "parquet", "pictures"] = "auto"
    "Form of the input; auto goes by the suffix, and by the content of pictures."
    records: Literal["line", "blank", "regex"] = "line"
    "What a row of plain text is: a line, a block between blank lines, or --pattern."
    pattern: str | None = None
    "With --records regex: a row starts at each line in which this is found."
    text_field: str | None = None
    "Field or column that holds the text (text)."
    id_field: str | None = None
    "Field or column that holds the id (id, where there is one)."
    picture_field: str | None = None
    "Field or column that says where a picture is (path, data URL); its text is the row's."
    fetch_pictures: bool = False
    "Fetch pictures of which the field gives an http(s) URL."
    read_by: Literal["auto", "projector", "ocr"] = "auto"
    "Pictures are shown to a model that sees (projector), or their text is read (ocr); auto: shown."
    mmproj: str | None = None
    "Vision projector of the model; auto takes mmproj*.gguf beside the model, none is without."
    limit: int | None = None
    "Only the first N rows."
    sample: int | None = None
    "Only N rows, chosen at random and always the same."
    workers: Annotated[str, Parameter(help="Rows under way at once, or auto.")] = "auto"
    journal: str | None = None
    "Where the journal is, if not beside the output."
    retry_failed: bool = False
    "Ask the rows again that ended in an error."
    fresh: bool = False
    "Forget earlier runs and write the output anew."
    width: int | None = None
    "Most sequences in one batch, or requests at once to a server."
    threads: int | None = None
    "CPU threads."
    no_tune: bool = False
    "Use the weights as downloaded, also where `vedette tune` made a faster copy of them."
    offline: bool | None = None
    "Never use the network."
    show_prompt: bool = False
    "Print the prompt of the first row as the model reads it, and stop."
    json: bool = False
    "Print the summary as JSON (to stderr when the results go to stdout)."
    quiet: bool = False
    "No progress and no summary."

    def source(self, paths: tuple[str, ...], columns: tuple[str, ...] = ()) -> Source:
        """Where the rows come from."""
        from vedette.batch.source import Source

        return Source(
            paths=paths or ("-",),
            format=self.format,
            records=self.records,
            pattern=self.pattern,
            text_field=self.text_field,
            id_field=self.id_field,
            columns=columns,
            limit=self.limit,
            sample=self.sample,
            picture_field=self.picture_field,
            fetch_pictures=self.fetch_pictures,
        )

    def refuse_model(self) -> None:
        """Raise `InputError` for an option that is about the model, where none is asked."""
        default = JobOptions()
        for name in (
            "model",
            "backend",
            "lora",
            "width",
            "threads",
            "no_tune",
            "offline",
            "read_by",
            "mmproj",
            "show_prompt",
        ):
            if getattr(self, name) != getattr(default, name):
                flag = f"--{name.replace('_', '-')}"
                raise InputError(f"{flag} is about the model, and none is asked")

    def worker_count(self) -> int | None:
        """Rows under way at once; None leaves it to the backend."""
        if self.workers == "auto":
            return None
        if not self.workers.isdigit() or int(self.workers) < 1:
            raise InputError(f"--workers is {self.workers!r}; it must be a number, or auto")
        return int(self.workers)


def check_paths(paths: tuple[str, ...], verb: Callable[..., int]) -> None:
    """Refuse an option that `verb` does not have. Raises `InputError` with the nearest one."""
    unknown = next((path for path in paths if path.startswith("-") and path != "-"), None)
    if unknown is None:
        return
    given = unknown.partition("=")[0]
    names = [*signature(verb).parameters]
    for group, kind in (("options", JobOptions), ("escalation", EscalationOptions)):
        if group in names:
            names.remove(group)
            names += [option.name for option in fields(kind)]
    valid = [f"--{name.replace('_', '-')}" for name in names if name != "paths"]
    meant = get_close_matches(given, valid, n=1)
    usage = f'Run "vedette {verb.__name__} --help" for usage'
    raise InputError(
        f'unknown option "{given}"', hint=f'Did you mean "{meant[0]}"?' if meant else usage
    )


def without_lines(options: JobOptions, journal: str) -> JobOptions:
    """The options of a job whose results go elsewhere: no lines on stdout, a journal all the same.

    An `--out` or `--journal` that is given stays.
    """
    if options.out != "-":
        return options
    return replace(options, out=os.devnull, journal=options.journal or journal)


def settings_of(options: JobOptions) -> Settings:
    """All settings, with what the command line says of them."""
    return load(
        model=options.model,
        backend=options.backend,
        lora=",".join(options.lora) if options.lora else None,
        width=options.width,
        threads=options.threads,
        mmproj=options.mmproj,
        tuned=False if options.no_tune else None,
        offline=options.offline,
    )


def open_backend(
    settings: Settings, *, quiet: bool, larger: str | None = None, sees: bool = False
) -> Backend:
    """Who answers; weights are fetched first if they are not here and the network may be used.

    `larger` is the address of a second tier. Without `sees` no vision projector is loaded.
    """
    from vedette.backends.open import open_backend as opened
    from vedette.backends.open import open_tiers
    from vedette.models.progress import progress_for_stderr
    from vedette.models.projector_place import WITHOUT

    if not sees:
        settings = settings.model_copy(update={"mmproj": WITHOUT})
    progress = progress_for_stderr(quiet=quiet)
    return opened(settings, progress) if larger is None else open_tiers(settings, larger, progress)


def run_job(
    task: Task,
    paths: tuple[str, ...],
    options: JobOptions,
    *,
    columns: tuple[str, ...] = (),
    source: Source | None = None,
    asks_model: bool = True,
    larger: str | None = None,
    into: Sink | None = None,
) -> int:
    """Answer the rows; returns the exit code. Files are checked before the model is loaded.

    `columns` are fields that the task reads beside the text; `source` is where the rows come from
    if `paths` and `columns` do not say it all. Without `asks_model` no model is loaded, and options
    that are about one are refused. `larger` is the address of the second tier of a task that has
    one. `into` takes the results beside the output.
    """
    from vedette.backends.none import NoModel
    from vedette.batch.job import Job, check
    from vedette.batch.progress import progress_on
    from vedette.batch.runner import run
    from vedette.cli.shown import may_be_shown, shown

    source = source or options.source(paths, columns)
    if not asks_model:
        options.refuse_model()
    if options.fetch_pictures and settings_of(options).offline:
        raise InputError("--fetch-pictures uses the network, which --offline forbids")
    workers = options.worker_count()
    sees = asks_model and may_be_shown(task, source, options)
    first = replace(source, shown_by="") if sees else source  # what reads them is not known yet
    check(first, options.out, options.journal, options.retry_failed)
    backend: Backend = NoModel()
    if asks_model:
        backend = open_backend(settings_of(options), quiet=options.quiet, larger=larger, sees=sees)
    opened = backend
    model = backend.name if asks_model else None
    try:
        if sees:
            source, backend = shown(source, backend, options)
        if options.show_prompt:
            return _show_prompt(task, source, backend)
        _check_task(task, backend, columns)
        job = Job(
            source=source,
            task=task,
            backend=backend,
            out=options.out,
            journal=options.journal,
            workers=workers,
            retry_failed=options.retry_failed,
            fresh=options.fresh,
            into=into,
        )
        summary = run(job, progress_on(sys.stderr, quiet=options.quiet))
    finally:
        opened.close()
    if options.json:
        body = {**summary.as_dict(), "model": model}
        if options.out == "-":
            _json_to_stderr(body)
        else:
            print_json(body)
    elif not options.quiet:
        if is_terminal(sys.stderr):
            console = stderr()
            console.print(summary.headline)
            console.print(summary.as_table())
            for text in (*summary.notes, *([summary.failure] if summary.failure else [])):
                console.print(text)
        else:
            note(summary.as_text())
    elif summary.failure:
        note(summary.failure)
    return summary.exit_code


def _check_task(task: Task, backend: Backend, columns: tuple[str, ...]) -> None:
    """What is wrong with the task itself is said once, before the first row."""
    from vedette.backends.shown import Showing
    from vedette.errors import NothingQualifies
    from vedette.pictures.marks import SAMPLE
    from vedette.tasks.base import TakesForm
    from vedette.types import Item

    text = task.sample_text if isinstance(task, TakesForm) else "x"
    if isinstance(backend, Showing):
        text = SAMPLE
    item = Item(id="0", text=text, columns=dict.fromkeys(columns))
    for request in next(task.steps(item, backend), ()):
        with suppress(NothingQualifies):  # that is about the text, and this one is made up
            backend.check(request)


def _json_to_stderr(body: object) -> None:
    import orjson

    sys.stderr.write(orjson.dumps(body, default=str).decode() + "\n")


def _show_prompt(task: Task, source: Source, backend: Backend) -> int:
    from vedette.types import Item

    rows = (row for row in source.rows() if isinstance(row, Item))
    asked = (next(task.steps(row, backend), None) for row in rows)
    requests = next(filter(None, asked), None)
    if requests is None:
        raise InputError("no row of the input asks anything, so there is no prompt to show")
    sys.stdout.write(backend.show_prompt(requests[0]) + "\n")
    return 0


def read_text(path: str, what: str) -> str:
    """A small file of the user's, whole. Raises `FileError` that names what it should have been."""
    try:
        return Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"cannot read the {what} {path}: {reason}") from error
