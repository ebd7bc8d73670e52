"""`vedette rewrite`: questions to search queries."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job

if TYPE_CHECKING:
    from vedette.batch.conversations import Conversations


def rewrite(
    *paths: PathOrStdin,
    mode: Annotated[
        list[Literal["query", "variants", "decompose", "hyde"]] | None, Parameter(negative=())
    ] = None,
    count: int | None = None,
    passages: int | None = None,
    history: str | None = None,
    instructions: str = "",
    temperature: float = 0.0,
    seed: int = 0,
    options: JobOptions | None = None,
) -> int:
    """Turn questions into what to search for; names and numbers stay as they are.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin. A row is a text, or has `messages`, the question the last.
    mode
        query (the default): one search query; variants: several; decompose: simpler questions;
        hyde: passages that might answer it, to be embedded. May be given again.
    count
        How many variants, and how many simpler questions at most (3).
    passages
        How many passages (1).
    history
        The field of a row (of JSONL, CSV or Parquet) with the conversation before its question.
    instructions
        A sentence more for the model.
    temperature
        0 takes the likeliest words; more makes variants differ more.
    seed
        Draws the same again.
    """
    from vedette.tasks.rewrite import rewriting
    from vedette.types import Sampling

    check_paths(paths, rewrite)
    options = options or JobOptions()
    task = rewriting(
        tuple(mode or ("query",)),
        count,
        passages,
        instructions=instructions,
        sampling=Sampling(temperature=temperature, seed=seed),
        history_column=history or "history",
    )
    columns = (history,) if history else ()
    source = _source(paths, options, columns, task.history_column)
    return run_job(task, paths, options, columns=columns, source=source)


def _source(
    paths: tuple[str, ...], options: JobOptions, columns: tuple[str, ...], history: str
) -> Conversations:
    """The rows of the files, conversations among them."""
    from vedette.batch.conversations import Conversations
    from vedette.batch.source import Source

    rows = options.source(paths, columns)
    given = {field.name: getattr(rows, field.name) for field in fields(Source)}
    return Conversations(**given, history_column=history)
