"""`vedette compress`: long texts to what matters in them, within a budget of tokens."""

from __future__ import annotations

from typing import Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job, settings_of
from vedette.cli.whole_files import as_texts
from vedette.errors import InputError


def compress(
    *paths: PathOrStdin,
    budget: int = 2000,
    query: str = "",
    how: Literal["sentences", "points"] = "sentences",
    model_share: float = 0.0,
    rules_only: bool = False,
    tokenizer: str | None = None,
    chunk_tokens: int | None = None,
    options: JobOptions | None = None,
) -> int:
    """Shorten texts to the sentences that matter, verbatim, in order, never over the budget.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin. A plain file is one text, a row of JSONL, CSV or Parquet too.
    budget
        Most tokens of a result, counted by the tokenizer.
    query
        What the kept sentences should help to answer.
    how
        sentences: those of the text, verbatim. points: key points that the model writes of every
        part; a number or name that the part does not have leaves its point out.
    model_share
        With --query: how much of a text the model may read to correct the rules' ranking, 0 to 1.
    rules_only
        Rank by rules and load no model, only the vocabulary of --tokenizer.
    tokenizer
        Whose tokens are counted: a model's name or GGUF file, or a tokenizer.json of Hugging Face.
        By default the model's own.
    chunk_tokens
        With --how points: tokens of a part; by default what the model is good for.
    """
    from vedette.backends.tokenizers import open_tokenizer
    from vedette.tasks.compress.task import Compress

    options = options or JobOptions()
    check_paths(paths, compress)
    if rules_only and (model_share or how == "points"):
        raise InputError("--rules-only asks no model: leave out --model-share and --how points")
    if rules_only:
        options.refuse_model()
        tokenizer = tokenizer or settings_of(options).model
    task = Compress(
        query=query,
        budget=budget,
        model_share=model_share,
        how=how,
        chunk_tokens=chunk_tokens,
        tokenizer=open_tokenizer(tokenizer) if tokenizer else None,
    )
    return run_job(task, paths, as_texts(paths, options), asks_model=not rules_only)
