"""What reranking asks of a model, by method, and what comes of the answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vedette.backends.base import Result
from vedette.decide.question import YES_NO
from vedette.types import EmbedRequest, Message, Prompt, ScoreRequest

from .base import Ask
from .nearness import nearness
from .prompt_data import fill, prompt_of, text_of, with_instructions
from .ranking import Method
from .reply import embedding_of, scores_of


def requests(method: Method, query: str, passages: Sequence[str], instructions: str) -> list[Ask]:
    """One about each passage; for embeddings, one about the query before them.

    `instructions` are a sentence more for the model. An embedding of a passage is without them, as
    without the query: it can be kept for others.
    """
    if method == "embedding":
        own = text_of("rerank", "system_passage")
        asking = with_instructions(text_of("rerank", "system_query"), instructions)
        return [
            EmbedRequest(prompt=prompt_of(asking, query)),
            *(EmbedRequest(prompt=prompt_of(own, passage), keep=True) for passage in passages),
        ]
    if method == "likelihood":
        system = with_instructions(text_of("rerank", "system_likelihood"), instructions)
        template = text_of("rerank", "passage_alone")
        alone = (fill(template, text=passage) for passage in passages)
        return [_score(system, "", passage, (query,)) for passage in alone]
    system = with_instructions(text_of("rerank", "system"), instructions)
    shared = fill(text_of("rerank", "question"), query=query)
    return [_score(system, shared, passage, YES_NO) for passage in passages]


def said_of(method: Method, rows: Sequence[Result]) -> list[float]:
    """A score for each passage, from the answers to `requests`."""
    if not rows:
        return []
    if method == "embedding":
        query, *passages = (np.asarray(embedding_of(row).vector, np.float32) for row in rows)
        return nearness(query, np.stack(passages))
    said = []
    for row in rows:
        first, *others = scores_of(row).logprobs  # yes and no, or the query alone
        said.append(first - sum(others))
    return said


def _score(system: str, shared: str, own: str, choices: tuple[str, ...]) -> ScoreRequest:
    return ScoreRequest(
        prompt=Prompt(
            (Message("system", system), Message("user", shared + own)),
            shared_messages=1,
            shared_chars=len(shared),
        ),
        choices=choices,
    )
