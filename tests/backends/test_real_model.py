"""Free text of a small real model: in process, from a llama-server, from its /v1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tiny_server import OPTIONS

from vedette.backends.base import Backend
from vedette.backends.llama_server import LlamaServerBackend
from vedette.backends.local import LocalBackend
from vedette.backends.openai_http import OpenAIBackend
from vedette.backends.server_process import ServerProcess
from vedette.engine.options import EngineOptions
from vedette.errors import Cancelled
from vedette.models.locate import locate
from vedette.types import Message, Prompt, Request, Sampling, ScoreRequest, Scores

pytestmark = pytest.mark.model

MODEL = "smollm2-135m"
STORY = Prompt((Message("user", "Tell me a long story about a fox."),))


@pytest.fixture(scope="module")
def backends(program) -> Iterator[list[Backend]]:
    with ServerProcess(program, locate(MODEL).path, OPTIONS) as server:
        opened = [
            LocalBackend(MODEL, EngineOptions(threads=1, width=2)),
            LlamaServerBackend(server.url),
            OpenAIBackend(f"{server.url}/v1"),
        ]
        yield opened
        for backend in opened:
            backend.close()


def test_free_text_is_streamed_and_cut_where_it_was_asked_to_be(backends):
    for backend in backends:
        handle = backend.submit(Request(prompt=STORY, max_tokens=12))
        pieces = list(handle)
        completion = handle.result(0)
        assert len(pieces) > 3
        assert "".join(pieces) == completion.text
        assert completion.finish_reason == "length"
        assert completion.usage.completion_tokens == 12
        word = completion.text.split()[1]
        stopped = backend.submit(Request(prompt=STORY, max_tokens=12, stop=(word,))).result(60)
        assert stopped.text == completion.text[: completion.text.index(word)]
        assert stopped.finish_reason == "stop"


def test_sampling_with_a_seed_repeats_itself(backends):
    for backend in backends:
        how = Sampling(temperature=1.0, seed=7)
        request = Request(prompt=STORY, max_tokens=8, sampling=how)
        assert len({backend.submit(request).result(60).text for _ in range(2)}) == 1


def test_a_stream_that_is_left_can_be_cancelled(backends):
    for backend in backends:
        handle = backend.submit(Request(prompt=STORY, max_tokens=1500))
        assert next(iter(handle))
        handle.cancel()
        with pytest.raises(Cancelled):
            handle.result(60)


def test_scores_are_those_of_the_engine(backends):
    choices = ("positive", "negative", "a mixed review", "a mixed review with reservations")
    prompt = Prompt((Message("user", "great film. positive or negative?"),))
    request = ScoreRequest(prompt=prompt, choices=choices)
    local, served = (backend.submit(request).result(60) for backend in backends[:2])
    # builds for other processors round otherwise, which adds up over the tokens of a label
    assert served.logprobs == pytest.approx(local.logprobs, abs=1.5)
    assert _best(served) == _best(local)
    assert served.usage.prompt_tokens == local.usage.prompt_tokens


def _best(scores: Scores) -> str:
    return max(zip(scores.logprobs, scores.choices, strict=True))[1]
