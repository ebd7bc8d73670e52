"""What the engine's tests share: short requests, a reference without an engine, integrity."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.engine.core import EngineCore
from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model
from vedette.engine.options import EngineOptions
from vedette.types import Completion, Message, Prompt, Request

WAIT_S = 60.0
# Two logits that are nearer than this may change places with the shape of a batch.
TIE = 0.1


def small_options(**changes: Any) -> EngineOptions:
    """One thread and a small cache, so that tests are quick and room is scarce."""
    return EngineOptions(**{"threads": 1, "cells": 2048, **changes})


def chat(*contents: str, shared: int = 0, prefill: str = "") -> Prompt:
    """A system message and then user messages, one for each content."""
    roles = ("system", *["user"] * (len(contents) - 1)) if len(contents) > 1 else ("user",)
    messages = tuple(Message(role, text) for role, text in zip(roles, contents, strict=True))
    return Prompt(messages=messages, shared_messages=shared, prefill=prefill)


def ask(text: str, **fields: Any) -> Request:
    """A request with a raw prompt."""
    return Request(prompt=Prompt(raw=text), **fields)


def answer(engine: EngineCore, request: Request) -> Completion:
    return engine.submit(request).result(WAIT_S)


def answers(engine: EngineCore, requests: Sequence[Request]) -> list[Completion]:
    """All at once."""
    tickets = [engine.submit(request) for request in requests]
    return [ticket.result(WAIT_S) for ticket in tickets]


def assert_same_but_for_ties(left: Completion, right: Completion) -> None:
    """Equal token by token; where they part for the first time, the choice was a tie."""
    for a, b in zip(left.logprobs, right.logprobs, strict=False):
        if a.token_id != b.token_id:
            assert min(a.runner_up_gap, b.runner_up_gap) < TIE, (left.text, right.text)
            return
    assert left.text == right.text
    assert left.usage.completion_tokens == right.usage.completion_tokens


def wait_until_idle(engine: EngineCore) -> None:
    """A ticket is filled before its cells are let go; give the loop the time for that."""
    loop = engine._loop
    end = time.monotonic() + WAIT_S
    while loop._live or loop._queue or loop._forks:
        assert time.monotonic() < end, "the engine does not come to rest"
        time.sleep(0.001)


def assert_nothing_leaked(engine: EngineCore) -> None:
    """No live sequence, no reservation; every id is either free or holds a kept prefix."""
    wait_until_idle(engine)
    cells, context = engine._loop._room.cells, engine._loop._room.context
    end = time.monotonic() + WAIT_S
    while sorted([*cells._free_ids, *cells._kept]) != list(range(context.spec.n_seq)):
        assert time.monotonic() < end, "an id is lost, or held twice"
        time.sleep(0.001)  # the loop may be letting go of what was computed under an adapter
    assert cells.reserved_cells == 0
    sources = [kept.source for kept in cells._kept.values()]
    assert all(sources.count(i) == kept.users for i, kept in cells._kept.items())
    assert set(cells._tree._tokens) == set(cells._kept)
    assert all(len(cells._tree._tokens[i]) == kept.n_tokens for i, kept in cells._kept.items())
    assert cells.kept_cells <= context.cells
    assert all(not context.holds(seq_id, 1) for seq_id in cells._free_ids)


class Reference:
    """Log-probabilities of token ids by one plain prefill in a context of its own."""

    def __init__(self, path: Path) -> None:
        self.model = Model(path)
        spec = ContextSpec(cells=1024, n_seq=2, batch_tokens=512, n_outputs=512, threads=1)
        self._context = Context(self.model, spec)
        self._batch = Batch(512)

    def log_softmax(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """What each position says about the next token: (n_tokens, n_vocab)."""
        self._context.drop(0)
        self._batch.clear()
        self._batch.add(0, tokens, 0, len(tokens))
        self._context.decode(self._batch)
        rows = self._context.logits(len(tokens)).astype(np.float64)
        rows -= rows.max(axis=1, keepdims=True)
        return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))

    def logprobs(self, prompt: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """log P of each of `tokens` as the continuation of `prompt`."""
        table = self.log_softmax([*prompt, *tokens])
        first = len(prompt) - 1
        return [float(table[first + i, token]) for i, token in enumerate(tokens)]

    def close(self) -> None:
        self._context.close()
        self.model.close()
