"""An embedding is what the model expects after a prompt, whoever else is in the batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from engine_helpers import WAIT_S, Reference, assert_nothing_leaked, small_options

from vedette.engine.core import EngineCore
from vedette.engine.embed import N_VALUES
from vedette.errors import Cancelled, InputError, InputTooLong
from vedette.types import EmbedRequest, Message, Prompt

TEXTS = ["a parcel", "the request to the server failed", "再见", "a parcel that came late"]


@pytest.fixture(scope="module")
def engine(tiny_any: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_any, small_options(width=4, n_seq=12)) as engine:
        yield engine
        assert_nothing_leaked(engine)


def test_it_is_the_last_logits_of_a_fresh_prefill(engine: EngineCore, tiny_any: Path) -> None:
    tickets = [engine.submit(EmbedRequest(prompt=Prompt(raw=text))) for text in TEXTS]
    found = [ticket.result(WAIT_S) for ticket in tickets]
    reference = Reference(tiny_any)
    try:
        for text, embedding in zip(TEXTS, found, strict=True):
            tokens = reference.model.tokenize(text, special=True)
            expected = reference.log_softmax(tokens)[-1]
            step = max(1, len(expected) // N_VALUES)
            ours = np.array(embedding.vector)
            theirs = expected[::step]
            assert len(ours) == len(theirs)
            # A softmax takes one number from all logits, so only differences are compared.
            np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=2e-3)
            assert embedding.usage.prompt_tokens == len(tokens)
            assert embedding.usage.completion_tokens == 0
    finally:
        reference.close()


def test_the_instructions_of_many_texts_are_read_once(engine: EngineCore) -> None:
    def ask(text: str) -> EmbedRequest:
        messages = (Message("system", "Say in one word what it is about."), Message("user", text))
        return EmbedRequest(prompt=Prompt(messages=messages, shared_messages=1))

    first = engine.submit(ask(TEXTS[0])).result(WAIT_S)
    second = engine.submit(ask(TEXTS[1])).result(WAIT_S)
    assert second.usage.cached_tokens > 0
    assert first.vector != second.vector


def test_a_prompt_that_cannot_be_met_is_refused(engine: EngineCore) -> None:
    with pytest.raises(InputError):
        engine.submit(EmbedRequest(prompt=Prompt(raw="")))
    with pytest.raises(InputTooLong):
        engine.submit(EmbedRequest(prompt=Prompt(raw="a parcel " * 20_000)))


def test_it_can_be_cancelled(engine: EngineCore) -> None:
    tickets = [engine.submit(EmbedRequest(prompt=Prompt(raw=text * 20))) for text in TEXTS * 8]
    for ticket in tickets:
        ticket.cancel()
    for ticket in tickets:
        try:
            ticket.result(WAIT_S)
        except Cancelled:
            continue
