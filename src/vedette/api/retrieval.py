"""What stands around a search: questions rewritten, candidates ordered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from vedette.backends.none import NoModel
from vedette.tasks.ranking import METHOD, ORDER, Method
from vedette.tasks.rerank import Rerank as RerankTask
from vedette.tasks.rewrite import Rewrite as RewriteTask
from vedette.tasks.rewrite import rewriting
from vedette.types import Item, Json, Sampling

from .items import one
from .shared import Answerer


def Rerank(
    *,
    top: int = 5,
    order: str = ORDER,
    method: Method = METHOD,
    read: int | None = None,
    instructions: str = "",
    return_documents: bool = False,
) -> RerankTask:
    """The rerank task, for `map` over items whose text is a query, with a column `documents`.

    `order`, `method` and `read`: see `rerank`.
    """
    return RerankTask(
        top=top,
        order=order,
        method=method,
        read=read,
        instructions=instructions,
        return_documents=return_documents,
    )


def rerank(
    query: str,
    documents: Sequence[str | Mapping[str, Json]],
    *,
    top: int = 5,
    order: str = ORDER,
    method: Method = METHOD,
    read: int | None = None,
    instructions: str = "",
    model: str | None = None,
    backend: Answerer | None = None,
) -> list[dict[str, Json]]:
    """The `top` documents by how well they answer a query, the best first.

    `documents` are texts, or objects with `text` and perhaps `id`. Each result has `index`, the
    place in `documents`, and `relevance_score`, between 0 and 1 and relative to the other ones.
    `order` is `given` for the hits of a search, best first, whose places count too, or `words` for
    texts in no such order. `method` is what the model adds: `embedding`, `likelihood`, `yes-no`
    (by these two it reads the first `read`), or `words`: nothing, and none is loaded. `backend`:
    see `extract`.
    """
    entries = cast(Json, documents if isinstance(documents, str) else [*map(_entry, documents)])
    item = Item(id="1", text=query, columns={"documents": entries})
    task = Rerank(top=top, order=order, method=method, read=read, instructions=instructions)
    answering = backend if task.asks_model else NoModel()
    value = cast(dict[str, Json], one(task, item, model, answering))
    return cast(list[dict[str, Json]], value["results"])


def _entry(document: str | Mapping[str, Json]) -> Json:
    """A document as a row has it; what is none stays, for the task to refuse."""
    return {**document} if isinstance(document, Mapping) else document


def Rewrite(
    modes: Sequence[str] = ("query",),
    *,
    count: int = 3,
    passages: int = 1,
    instructions: str = "",
    temperature: float = 0.0,
    seed: int = 0,
) -> RewriteTask:
    """The rewrite task, for `map`. An item's column `history` is the conversation before it."""
    return RewriteTask(
        modes=tuple(modes),
        count=count,
        passages=passages,
        instructions=instructions,
        sampling=Sampling(temperature=temperature, seed=seed),
    )


def rewrite(
    question: str,
    modes: str | Sequence[str] = ("query",),
    *,
    history: str | Sequence[Mapping[str, Json]] = (),
    count: int | None = None,
    passages: int | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """What to search for, to answer a question.

    `modes`: `query`, `variants`, `decompose`, `hyde`; their texts stand under `query`,
    `variants`, `questions` and `passages`. `count` goes with `variants` and `decompose` (3),
    `passages` with `hyde` (1). `history` is the conversation before the question. `backend`: see
    `extract`. Raises `InputError` for an unknown mode, and for a number that goes with none.
    """
    before: Json = history if isinstance(history, str) else [{**turn} for turn in history]
    item = Item(id="1", text=question, columns={"history": before})
    task = rewriting([modes] if isinstance(modes, str) else modes, count, passages)
    return cast(dict[str, Json], one(task, item, model, backend))
