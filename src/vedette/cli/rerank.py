"""`vedette rerank`: candidates in the order of how well they answer a query."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job
from vedette.cli.whole_files import is_plain
from vedette.errors import InputError
from vedette.tasks.ranking import FIRST_WEIGHT, METHOD, NEIGHBOURS, ORDER, Method

if TYPE_CHECKING:
    from vedette.batch.candidates import Candidates

DOCUMENTS = "documents"


def rerank(
    *paths: PathOrStdin,
    query: str | None = None,
    top: int = 5,
    method: Method = METHOD,
    order: Literal["given", "words"] | None = None,
    read: int | None = None,
    first_weight: float = FIRST_WEIGHT,
    neighbours: float = NEIGHBOURS,
    window_tokens: int | None = None,
    whole: bool | None = None,
    return_documents: bool = False,
    documents_field: str | None = None,
    instructions: str = "",
    options: JobOptions | None = None,
) -> int:
    """Order candidates by how well they answer a query: a search's order, and a model's word.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin. With --query their rows are the candidates; without it each
        row has a `query` and its `documents`.
    query
        What the candidates are to answer.
    top
        How many of the ranking are given.
    method
        What the model adds: how near query and candidate are (embedding), how likely the query is
        as a question about the candidate (likelihood), whether the candidate helps to answer it
        (yes-no), or nothing, and then no model is loaded (words).
    order
        The first order: as the candidates are given, the best hits of a search first (given), or by
        the words that they share with the query, BM25 (words). By default words with --query, and
        given where each row has candidates of its own.
    read
        How many candidates the model reads with --method likelihood or yes-no, the first ones of
        the first order (10).
    first_weight
        What a place in the first order counts beside the model's word; 0 leaves it out of the
        scores.
    neighbours
        The share of a score, from 0 to under 1, that comes from a candidate and those most like it.
    window_tokens
        How much of a candidate the model sees at once (80; where it reads, 400).
    whole
        See a longer candidate in windows, of which the best one counts, in place of its opening
        alone. By default where it reads.
    return_documents
        Give the texts in the results too.
    documents_field
        The field of a row with its candidates (documents): texts, or objects with `text` and `id`.
    instructions
        A sentence more for the model: what makes a candidate relevant.
    """
    from vedette.tasks.rerank import Rerank

    check_paths(paths, rerank)
    options = options or JobOptions()
    column = documents_field or DOCUMENTS
    task = Rerank(
        top=top,
        method=method,
        order=order or (ORDER if query is None else "words"),
        read=read,
        first_weight=first_weight,
        neighbours=neighbours,
        window_tokens=window_tokens,
        whole=whole,
        return_documents=return_documents,
        instructions=instructions,
        documents_column=column,
    )
    if query is None:
        if is_plain(paths, options):
            raise InputError(
                "plain text has no query of its own in each row",
                hint="give --query, or rows with `query` and `documents` and, where the name of "
                "the file does not say it, --format",
            )
        options = replace(options, text_field=options.text_field or "query")
        return run_job(task, paths, options, columns=(column,), asks_model=task.asks_model)
    if documents_field is not None:
        raise InputError("--documents-field is for rows with queries of their own, not for --query")
    if not query.strip():
        raise InputError("--query is empty")
    return run_job(
        task,
        paths,
        options,
        columns=(column,),
        source=_source(query, paths, options),
        asks_model=task.asks_model,
    )


def _source(query: str, paths: tuple[str, ...], options: JobOptions) -> Candidates:
    """The rows of the files as candidates of one query."""
    from vedette.batch.candidates import Candidates
    from vedette.batch.source import Source

    rows = options.source(paths)
    given = {field.name: getattr(rows, field.name) for field in fields(Source)}
    return Candidates(**given, query=query, column=DOCUMENTS)
