"""The places of a task's own texts, asked for once and kept on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from vedette.backends.base import Backend
from vedette.models.home import home
from vedette.tasks.base import Embeds, Steps, Task
from vedette.tasks.reply import embedding_of
from vedette.types import Answer, Item, Json

from .drive import Driver

POLL_S = 0.2  # how often a request to stop is looked for
FORMAT = "vedette-places-1"


@dataclass(frozen=True)
class _Place:
    """Implements `Task`: the place of one text of another task."""

    task: Embeds
    name: str = "place"

    @property
    def identity(self) -> dict[str, Json]:
        return self.task.identity

    def steps(self, item: Item, backend: Backend) -> Steps:
        results = yield [self.task.embed_request(item.text)]
        embedding = embedding_of(results[0])
        return Answer(value=[*embedding.vector], usage=embedding.usage)


def placing(task: Embeds) -> Task:
    """The task that finds the place of each of `task.texts`."""
    return _Place(task)


def place(
    task: Embeds,
    driver: Driver[int],
    backend: Backend,
    workers: int,
    stop: Callable[[], bool] = lambda: False,
) -> Task | None:
    """The task, knowing where its texts lie; None when `stop` said so meanwhile.

    `driver` is one for `placing(task)`. Raises the error of a text that cannot be asked: the task
    would answer differently without it.
    """
    path = _file(task, backend)
    vectors = _read(path, len(task.texts))
    if vectors is None:
        vectors = _asked(task.texts, driver, workers, stop)
        if vectors is None:
            return None
        _write(path, vectors)
    return task.placed(vectors.astype(np.float32))


def _asked(
    texts: Sequence[str], driver: Driver[int], workers: int, stop: Callable[[], bool]
) -> NDArray[np.float16] | None:
    rows: dict[int, NDArray[np.float16]] = {}
    waiting = iter(enumerate(texts))
    with driver:
        while len(rows) < len(texts):
            while driver.in_flight < workers and (turn := next(waiting, None)) is not None:
                number, text = turn
                driver.start(number, Item(id=str(number), text=text))
            for number, outcome in driver.wait(POLL_S):
                if not isinstance(outcome, Answer):
                    raise outcome
                # Half precision, so that a kept place and a fresh one are the same.
                rows[number] = np.asarray(outcome.value, np.float16)
            if stop():
                return None
    return np.stack([rows[number] for number in range(len(texts))])


def _file(task: Embeds, backend: Backend) -> Path:
    """Named by all that the places depend on."""
    prompts = [repr(task.embed_request(text).prompt) for text in task.texts]
    made_of = orjson.dumps([FORMAT, prompts, backend.identity], option=orjson.OPT_SORT_KEYS)
    return home() / "places" / f"{hashlib.sha256(made_of).hexdigest()[:32]}.npy"


def _read(path: Path, n_texts: int) -> NDArray[np.float16] | None:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or not whole
        return None
    is_ours = found.dtype == np.float16 and found.ndim == 2 and len(found) == n_texts
    return found if is_ours else None


def _write(path: Path, vectors: NDArray[np.float16]) -> None:
    """Beside, then in place in one step. Where nothing can be kept it only costs time again."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as file:
                np.save(file, vectors, allow_pickle=False)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
