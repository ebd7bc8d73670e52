"""`vedette compress`: long texts to what matters in them, within a budget of tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job

NEVER = "(?!)"  # a pattern that opens no record: the whole file is one


def compress(
    *paths: PathOrStdin,
    budget: int = 2000,
    query: str = "",
    model_share: float = 0.0,
    options: JobOptions | None = None,
) -> int:
    """Shorten texts to the sentences that matter, verbatim, in order, never over the budget.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin. A plain file is one text, a row of JSONL, CSV or Parquet too.
    budget
        Most tokens of a result, counted by the model's tokenizer.
    query
        What the kept sentences should help to answer.
    model_share
        With --query: how much of a text the model may read to correct the rules' ranking, 0 to 1.
    """
    from vedette.tasks.compress.task import Compress

    options = options or JobOptions()
    check_paths(paths, compress)
    task = Compress(query=query, budget=budget, model_share=model_share)
    if options.records == "line" and options.pattern is None and _is_plain(paths, options):
        options = replace(options, records="regex", pattern=NEVER)
    return run_job(task, paths, options)


def _is_plain(paths: tuple[str, ...], options: JobOptions) -> bool:
    """Whether a plain file is among the inputs: then each of these is one text."""
    from vedette.batch.inputs import SUFFIXES

    if options.format != "auto":
        return options.format == "lines"
    return any(
        PurePath(path.removesuffix(".gz")).suffix.lower() not in SUFFIXES
        for path in paths or ("-",)
    )
