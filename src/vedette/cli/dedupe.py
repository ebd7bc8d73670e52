"""`vedette dedupe`: rows that say the same."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Literal

from vedette.cli.console import note, print_json
from vedette.cli.job import JobOptions, PathOrStdin, check_paths, open_backend, settings_of
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.batch.pairs import PairCheck
    from vedette.batch.source import Source
    from vedette.tasks.same import Same

# Options of a job that here are about the pairs put to the model.
OF_MODEL = ("workers", "journal", "retry_failed")


def dedupe(
    *paths: PathOrStdin,
    fields: str | None = None,
    amount: str | None = None,
    keep: Literal["all", "representatives"] = "all",
    by: Literal["shingles", "words"] = "shingles",
    threshold: float | None = None,
    shingles: str | None = None,
    normalise: str = "nfkc,case,space",
    model_check: bool = False,
    grey: str | None = None,
    same_above: float | None = None,
    what: str = "thing",
    instructions: str = "",
    options: JobOptions | None = None,
) -> int:
    """Find rows that say the same: exactly, nearly, or by a model's word where rules cannot tell.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    fields
        Fields to compare, separated by commas, instead of the text.
    amount
        A field with a number, such as a price: rows are the less alike, the further it differs.
    keep
        Write a result line for each row (all), or only the rows that stand for a cluster, as they
        came (representatives).
    by
        Compare rows by their shingles, or by their words, rare ones weighing more: for short
        records in which the order and the filler words differ.
    threshold
        Least similarity of a duplicate, from 0 to 1 (0.8; 0.7 by words).
    shingles
        What the similarity counts: chars:N or words:N (chars:3).
    normalise
        Differences that do not count: some of nfkc, case, space, punctuation, or none.
    model_check
        Ask a model about pairs in the grey band; --model NAME asks for it too.
    grey
        The band as LOW:HIGH, instead of --threshold: from HIGH on rows are the same, from LOW on
        the model is asked. By default HIGH is the threshold, and LOW is 0.3 less.
    same_above
        A pair is the same when the model's probability is over this (0.6).
    what
        What a row describes, for the model: product, company, bug report.
    instructions
        A sentence more for the model.
    """
    from vedette.batch.dedupe import DedupeJob, run_dedupe
    from vedette.batch.progress import progress_on
    from vedette.tasks.dedupe import Matching, Normalise
    from vedette.tasks.dedupe.shingles import Shingles
    from vedette.tasks.same import Same

    check_paths(paths, dedupe)
    options = options or JobOptions()
    asks = model_check or options.model is not None
    named = tuple(name.strip() for name in fields.split(",")) if fields is not None else ()
    if fields is not None and not all(named):
        raise InputError(f"--fields is {fields!r}; give names separated by commas")
    if named and options.text_field is not None:
        raise InputError("--fields and --text-field exclude each other", hint="give one of them")
    if not asks:
        _refuse_unused(options, grey, same_above, what, instructions)
    low, high = _band(grey, threshold)
    matching = Matching(
        by=by,
        shingles=Shingles.of(shingles) if shingles is not None else Shingles(),
        threshold=high,
    )
    if asks:
        matching = matching.with_grey(low)
    task = Same(what=what, instructions=instructions)
    check = _check(options, task, same_above)
    job = DedupeJob(
        source=options.source(paths),
        matching=matching,
        normalise=Normalise.of(normalise),
        fields=named,
        amount=amount,
        keep=keep,
        out=options.out,
        fresh=options.fresh,
        ask=check if asks else None,
    )
    if options.show_prompt:
        return _show_prompt(job.whole_source, job.shown_fields, task, options)
    summary = run_dedupe(job, partial(progress_on, sys.stderr, quiet=options.quiet))
    if options.json:
        _print_summary(summary.as_dict(), to_stderr=options.out == "-")
    else:
        note(summary.as_text(), quiet=options.quiet)
    return summary.exit_code


def _refuse_unused(
    options: JobOptions, grey: str | None, same_above: float | None, what: str, instructions: str
) -> None:
    """Raise `InputError` for an option that would have no effect without a model."""
    options.refuse_model()
    default = JobOptions()
    unused = [name for name in OF_MODEL if getattr(options, name) != getattr(default, name)]
    if grey is not None:
        unused.append("grey")
    if same_above is not None:
        unused.append("same_above")
    if what != "thing":
        unused.append("what")
    if instructions:
        unused.append("instructions")
    if unused:
        raise InputError(
            f"--{unused[0].replace('_', '-')} is about the model, and none is asked",
            hint="add --model-check",
        )


def _band(grey: str | None, threshold: float | None) -> tuple[float | None, float | None]:
    """Where the grey band begins and ends; the end is the threshold. None: not said."""
    if grey is None:
        return None, threshold
    if threshold is not None:
        raise InputError("--grey has the threshold in it", hint="leave --threshold out")
    low, _, high = grey.partition(":")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise InputError(f"--grey is {grey!r}; write it as 0.5:0.8") from error


def _check(options: JobOptions, task: Same, same_above: float | None) -> PairCheck:
    """Who judges the grey pairs; the model is loaded when there is one."""
    from vedette.batch.pairs import SAME_ABOVE, PairCheck

    return PairCheck(
        task=task,
        backend=partial(_open, options),
        same_above=SAME_ABOVE if same_above is None else same_above,
        journal=options.journal,
        workers=options.worker_count(),
        retry_failed=options.retry_failed,
    )


def _open(options: JobOptions) -> closing[Backend]:
    return closing(open_backend(settings_of(options), quiet=options.quiet))


def _show_prompt(source: Source, fields: tuple[str, ...], task: Same, options: JobOptions) -> int:
    """The prompt for the first two rows."""
    from itertools import islice

    from vedette.batch.record_text import shown
    from vedette.types import Item

    rows = (shown(row, fields) for row in source.rows() if isinstance(row, Item))
    first = list(islice((text for text in rows if text.strip()), 2))
    if len(first) < 2:
        raise InputError("the input has no two rows with text, so there is no prompt to show")
    with _open(options) as backend:
        sys.stdout.write(backend.show_prompt(task.request(*first)) + "\n")
    return 0


def _print_summary(body: object, *, to_stderr: bool) -> None:
    import orjson

    if to_stderr:
        sys.stderr.write(orjson.dumps(body).decode() + "\n")
    else:
        print_json(body)
