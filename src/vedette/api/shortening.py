"""Long texts made shorter: by their own sentences, by key points, by a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from vedette.backends.none import NoModel
from vedette.backends.tokenizers import open_tokenizer
from vedette.batch.single import answer_item
from vedette.config import load
from vedette.errors import InputError
from vedette.tasks.compress.task import BUDGET_TOKENS, How
from vedette.tasks.compress.task import Compress as CompressTask
from vedette.tasks.summarise.task import SAMPLING, WORDS
from vedette.tasks.summarise.task import Summarise as SummariseTask
from vedette.types import Item, Json

from .items import one
from .shared import Answerer


def Compress(
    query: str = "",
    *,
    budget: int = BUDGET_TOKENS,
    model_share: float = 0.0,
    how: How = "sentences",
    tokenizer: str | None = None,
    chunk_tokens: int | None = None,
) -> CompressTask:
    """The compress task, for `map`.

    `model_share`: how much of a text the model may read to correct the ranking of its sentences.
    `how` points has it write key points instead. `tokenizer`: whose tokens are counted, a model's
    name or a tokenizer.json; None: the answering model's. `chunk_tokens` goes with points.
    """
    return CompressTask(
        query=query,
        budget=budget,
        model_share=model_share,
        how=how,
        tokenizer=open_tokenizer(tokenizer) if tokenizer else None,
        chunk_tokens=chunk_tokens,
    )


def compress(
    text: str,
    query: str = "",
    *,
    budget: int = BUDGET_TOKENS,
    how: How = "sentences",
    tokenizer: str | None = None,
    rules_only: bool = False,
    model: str | None = None,
    backend: Answerer | None = None,
) -> str:
    """What matters in a text, for a query or in general, within `budget` tokens.

    Its sentences, verbatim; with `how` points, key points that the model writes. With `rules_only`
    no model is loaded but the vocabulary of `tokenizer` (None: of the setting `model`). `backend`:
    see `extract`. Raises `InputError` for `rules_only` beside what needs a model.
    """
    if not rules_only:
        task = Compress(query, budget=budget, how=how, tokenizer=tokenizer)
        return _text(one(task, text, model, backend), "text")
    if how != "sentences" or model is not None or backend is not None:
        raise InputError("rules_only asks no model: leave out model, backend and points")
    task = Compress(query, budget=budget, tokenizer=tokenizer or load().model)
    return _text(answer_item(task, Item(id="1", text=text), NoModel()).value, "text")


def Summarise(
    *,
    words: int = WORDS,
    tokens: int | None = None,
    instructions: str = "",
    chunk_tokens: int | None = None,
    temperature: float = SAMPLING.temperature,
    seed: int = 0,
) -> SummariseTask:
    """The summarise task, for `map`. `tokens` is a bound instead of `words`."""
    return SummariseTask(
        words=words,
        tokens=tokens,
        instructions=instructions,
        chunk_tokens=chunk_tokens,
        sampling=replace(SAMPLING, temperature=temperature, seed=seed),
    )


def summarise(
    text: str,
    *,
    words: int = WORDS,
    tokens: int | None = None,
    instructions: str = "",
    model: str | None = None,
    backend: Answerer | None = None,
) -> str:
    """A text of any length in at most `words` words, or `tokens` tokens.

    No number and no name is in it that the text does not have. `map` with `Summarise` also tells
    what was left out. `backend`: see `extract`.
    """
    task = Summarise(words=words, tokens=tokens, instructions=instructions)
    return _text(one(task, text, model, backend), "summary")


def _text(value: Json, key: str) -> str:
    """The text of a value; nothing for that of an empty text."""
    return cast(str, cast(dict[str, Json], value)[key]) if value else ""
