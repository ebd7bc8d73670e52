"""What `import vedette` offers: an engine, the tasks as functions, and a lazy map over items."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from pydantic import BaseModel, ValidationError

from vedette.batch.answers import answers
from vedette.decide.question import ask as one_line
from vedette.decide.question import parse_questions
from vedette.errors import ConstraintFailed, InputError, VedetteError
from vedette.tasks.base import Task
from vedette.tasks.classify import Classify as ClassifyTask
from vedette.tasks.compress.task import BUDGET_TOKENS
from vedette.tasks.compress.task import Compress as CompressTask
from vedette.tasks.decide import Decide as DecideTask
from vedette.tasks.extract import Example
from vedette.tasks.extract import Extract as ExtractTask
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label, read_labels
from vedette.tasks.rerank import Rerank as RerankTask
from vedette.tasks.rewrite import Rewrite as RewriteTask
from vedette.types import Answer, Item, Json, Sampling

from .change import ChangelogEntry, Commit, PullRequest, notes_of
from .cleaning import Clean, clean
from .duplicates import Duplicate, dedupe
from .engine import Engine, Schema, schema_of
from .shared import Answerer, backend_of

__all__ = [
    "ChangelogEntry",
    "Classify",
    "Clean",
    "Commit",
    "Compress",
    "Decide",
    "Duplicate",
    "Engine",
    "Extract",
    "PullRequest",
    "Rerank",
    "Rewrite",
    "aclassify",
    "aextract",
    "amap",
    "ask",
    "changelog",
    "classify",
    "clean",
    "commit",
    "compress",
    "dedupe",
    "extract",
    "map",
    "pull_request",
    "rerank",
    "rewrite",
]

M = TypeVar("M", bound=BaseModel)


def Extract(
    schema: Schema,
    *,
    examples: Iterable[tuple[str, Json]] = (),
    instructions: str = "",
    max_tokens: int | None = None,
    prompt_schema: bool = True,
) -> ExtractTask:
    """The extract task, for `map`. `schema`: a JSON Schema, a pydantic model, or a field list."""
    return ExtractTask(
        schema=schema_of(schema),
        examples=tuple(Example(text, value) for text, value in examples),
        instructions=instructions,
        max_tokens=max_tokens,
        prompt_schema=prompt_schema,
    )


def Classify(
    labels: Sequence[str] | dict[str, str] | str,
    *,
    examples: Iterable[tuple[str, str]] = (),
    multi: bool = False,
    evidence: bool = False,
) -> ClassifyTask:
    """The classify task, for `map`. `labels`: names, or names with descriptions."""
    return ClassifyTask(
        labels=_labels(labels),
        examples=tuple(LabelledText(text, (label,)) for text, label in examples),
        multi=multi,
        evidence=evidence,
    )


@overload
def extract(
    text: str, schema: type[M], *, model: str | None = None, backend: Answerer | None = None
) -> M: ...
@overload
def extract(
    text: str,
    schema: dict[str, Any] | str,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> Json: ...
def extract(
    text: str, schema: Schema, *, model: str | None = None, backend: Answerer | None = None
) -> Json | BaseModel:
    """One object out of one text.

    `schema` is a JSON Schema, a field list such as `"level:INFO|ERROR, service"`, or a pydantic
    model, of which an instance is returned. `backend` is who answers: an address as `--backend`
    takes it, such as `"openai:https://host/v1#model"`, or a backend. Raises the `VedetteError`
    that says why not.
    """
    return _typed(_one(Extract(schema), text, model, backend), schema)


@overload
async def aextract(
    text: str, schema: type[M], *, model: str | None = None, backend: Answerer | None = None
) -> M: ...
@overload
async def aextract(
    text: str,
    schema: dict[str, Any] | str,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> Json: ...
async def aextract(
    text: str, schema: Schema, *, model: str | None = None, backend: Answerer | None = None
) -> Json | BaseModel:
    """`extract` for asyncio."""
    return _typed(await asyncio.to_thread(_one, Extract(schema), text, model, backend), schema)


def classify(
    text: str,
    labels: Sequence[str] | dict[str, str] | str,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """The label of one text, with the probability of each: keys `label`, `probabilities`, ...

    `backend`: see `extract`. One that cannot score gives a label without probabilities.
    """
    return cast(dict[str, Json], _one(Classify(labels), text, model, backend))


async def aclassify(
    text: str,
    labels: Sequence[str] | dict[str, str] | str,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """`classify` for asyncio."""
    answer = await asyncio.to_thread(_one, Classify(labels), text, model, backend)
    return cast(dict[str, Json], answer)


def Decide(questions: Sequence[str] | dict[str, Any], *, both_orders: bool = False) -> DecideTask:
    """The decide task, for `map`.

    `questions`: lines such as `"Which team? billing|shipping"`, or an object in the form of the
    System One protocol.
    """
    if isinstance(questions, dict):
        typed = parse_questions(questions)
    else:
        typed = tuple(one_line(line, number) for number, line in enumerate(questions, start=1))
    return DecideTask(questions=typed, both_orders=both_orders)


def ask(
    text: str,
    questions: Sequence[str] | dict[str, Any],
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """The answer to each question about one text, by its id. `backend`: see `extract`."""
    value = cast(dict[str, Json], _one(Decide(questions), text, model, backend))
    return cast(dict[str, Json], value["answers"])


def commit(
    diff: str, *, model: str | None = None, backend: Answerer | None = None
) -> dict[str, Json]:
    """A commit message for a diff, with its parts: keys `message`, `header`, `type`, ..."""
    return cast(dict[str, Json], _one(Commit(), diff, model, backend))


def pull_request(
    diff: str, *, model: str | None = None, backend: Answerer | None = None
) -> dict[str, Json]:
    """A pull request's text for a diff, with its parts: keys `markdown`, `title`, `summary`, ..."""
    return cast(dict[str, Json], _one(PullRequest(), diff, model, backend))


def changelog(
    commits: Iterable[tuple[str, str]],
    *,
    title: str = "[Unreleased]",
    model: str | None = None,
    backend: Answerer | None = None,
) -> str:
    """A part of a changelog, in Markdown, from pairs of a commit's hash and its message.

    The model is loaded only where a message does not say its heading itself.
    """
    items = [Item(id=name, text=message) for name, message in commits]
    task = ChangelogEntry()
    return notes_of(items, title, lambda left: map(left, task, model=model, backend=backend))


def Rerank(*, top: int = 5, instructions: str = "", return_documents: bool = False) -> RerankTask:
    """The rerank task, for `map` over items whose text is a query, with a column `documents`."""
    return RerankTask(top=top, instructions=instructions, return_documents=return_documents)


def rerank(
    query: str,
    documents: Sequence[str | Mapping[str, Json]],
    *,
    top: int = 5,
    instructions: str = "",
    model: str | None = None,
    backend: Answerer | None = None,
) -> list[dict[str, Json]]:
    """The `top` documents by how well they answer a query, the best first.

    `documents` are texts, or objects with `text` and perhaps `id`. Each result has `index`, the
    place in `documents`, and `relevance_score`, between 0 and 1 and relative to the other ones.
    `backend`: see `extract`.
    """
    entries: list[Json] = [one if isinstance(one, str) else {**one} for one in documents]
    item = Item(id="1", text=query, columns={"documents": entries})
    value = cast(
        dict[str, Json], _one(Rerank(top=top, instructions=instructions), item, model, backend)
    )
    return cast(list[dict[str, Json]], value["results"])


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
    modes: Sequence[str] = ("query",),
    *,
    history: str | Sequence[Mapping[str, Json]] = (),
    count: int = 3,
    passages: int = 1,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """What to search for, to answer a question.

    `modes`: `query`, `variants`, `decompose`, `hyde`; their texts stand under `query`,
    `variants`, `questions` and `passages`. `history` is the conversation before the question.
    `backend`: see `extract`.
    """
    before: Json = history if isinstance(history, str) else [{**turn} for turn in history]
    item = Item(id="1", text=question, columns={"history": before})
    task = Rewrite(modes, count=count, passages=passages)
    return cast(dict[str, Json], _one(task, item, model, backend))


def Compress(
    query: str = "", *, budget: int = BUDGET_TOKENS, model_share: float = 0.0
) -> CompressTask:
    """The compress task, for `map`. `model_share`: how much of a text the model may read."""
    return CompressTask(query=query, budget=budget, model_share=model_share)


def compress(
    text: str,
    query: str = "",
    *,
    budget: int = BUDGET_TOKENS,
    model: str | None = None,
    backend: Answerer | None = None,
) -> str:
    """The sentences of a text that matter, for a query or in general, within `budget` tokens.

    `backend`: see `extract`.
    """
    task = Compress(query, budget=budget)
    value = cast(dict[str, Json] | None, _one(task, text, model, backend))
    return cast(str, value["text"]) if value else ""


def map(
    items: Iterable[str | Item],
    task: Task,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
    workers: int | None = None,
) -> Iterator[Answer | VedetteError]:
    """Answers of a task over many items, lazily and in order; a failed item yields its error.

    `backend`: see `extract`. Closing the iterator cancels what is under way.
    """
    found = answers(_items(items), task, backend_of(model, backend), workers)
    try:
        for _, outcome in found:
            yield outcome
    finally:
        found.close()


async def amap(
    items: Iterable[str | Item],
    task: Task,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
    workers: int | None = None,
) -> AsyncIterator[Answer | VedetteError]:
    """`map` for asyncio."""
    found = map(items, task, model=model, backend=backend, workers=workers)
    end = object()
    step: asyncio.Future[object] | None = None
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, found, end))
            if (outcome := await asyncio.shield(step)) is end:
                return
            yield cast("Answer | VedetteError", outcome)
    finally:
        if step is not None:  # a generator that is at work in its thread cannot be closed
            await asyncio.wait([step])
        await asyncio.to_thread(cast(Any, found).close)


def _one(task: Task, item: str | Item, model: str | None, backend: Answerer | None) -> Json:
    outcome = next(iter(map([item], task, model=model, backend=backend)))
    if isinstance(outcome, VedetteError):
        raise outcome
    return outcome.value


def _typed(value: Json, schema: Schema) -> Json | BaseModel:
    if not isinstance(schema, type):
        return value
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        if value is None:
            raise InputError(
                f"the text is empty, and {schema.__name__} allows no empty answer",
                hint="let its fields be None",
            ) from error
        first = error.errors()[0]
        place = "/".join(str(step) for step in first["loc"]) or "the whole"
        raise ConstraintFailed(
            f"the answer fits the schema, but {schema.__name__} refuses it: {place}: {first['msg']}"
        ) from error


def _items(items: Iterable[str | Item]) -> Iterator[Item]:
    for number, item in enumerate(items, start=1):
        yield item if isinstance(item, Item) else Item(id=str(number), text=item)


def _labels(labels: Sequence[str] | dict[str, str] | str) -> tuple[Label, ...]:
    if isinstance(labels, str):
        return read_labels(labels)
    if isinstance(labels, dict):
        return tuple(Label(name, text) for name, text in labels.items())
    return tuple(Label(name) for name in labels)
