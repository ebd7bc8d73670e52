"""Guesses change how long an answer takes, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from engine_helpers import (
    answer,
    answers,
    ask,
    assert_nothing_leaked,
    assert_same_but_for_ties,
    small_options,
)

from tiny_gguf import build_tiny
from vedette.engine.core import EngineCore
from vedette.engine.speculation.draft_model import DraftSource
from vedette.errors import InputError
from vedette.types import Completion, Constraint, Sampling

POLICIES = ("ngram:1", "ngram:15", "draft:1", "draft:4", "auto")
SCHEMA = Constraint(
    "json_schema",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "level": {"enum": ["INFO", "WARN", "ERROR"]},
                "names": {"type": "array", "items": {"type": "string", "maxLength": 12}},
                "ok": {"type": "boolean"},
            },
            "required": ["level", "names", "ok"],
        }
    ),
)
# One way to write it in tokens, and nothing is forced: the model is free in every digit.
DIGITS = Constraint("regex", r"[0-9]{40}")
REQUESTS = {
    "free": ask("the server failed, the server failed, the", max_tokens=48),
    "digits": ask("12 12 12", constraint=DIGITS, max_tokens=48),
    "schema": ask('{"level":"INFO"} {"level":"', constraint=SCHEMA, max_tokens=64),
    "sampled": ask(
        "in the in the", max_tokens=48, sampling=Sampling(temperature=1.0, seed=7, top_p=0.95)
    ),
    "penalised": ask(
        "in the in the",
        max_tokens=48,
        sampling=Sampling(temperature=0.8, seed=3, repeat_penalty=1.3, top_k=20),
    ),
    "greedy, penalised": ask("in the in the", max_tokens=48, sampling=Sampling(repeat_penalty=1.3)),
    "each penalty": ask(
        "in the in the",
        max_tokens=48,
        sampling=Sampling(presence_penalty=0.7, frequency_penalty=0.4, logit_bias=((300, 2.0),)),
    ),
    "sampled digits": ask(
        "12 12 12",
        constraint=DIGITS,
        max_tokens=48,
        sampling=Sampling(temperature=1.0, seed=5, min_p=0.02),
    ),
}


@pytest.fixture(scope="module", params=["full", "sliding"])
def target(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> Path:
    return tiny_models[request.param]


@pytest.fixture(scope="module", params=["itself", "another"])
def engine(
    request: pytest.FixtureRequest, target: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineCore]:
    """With a draft that is always right, and with one that nearly never is."""
    draft = target
    if request.param == "another":
        draft = build_tiny("full", tmp_path_factory.mktemp("draft") / "draft.gguf", seed=9)
    with EngineCore(target, small_options(draft=draft)) as engine:
        yield engine
        assert_nothing_leaked(engine)


@pytest.fixture(scope="module")
def plain(engine: EngineCore) -> dict[str, Completion]:
    """The answers without guesses."""
    return {
        name: answer(engine, replace(request, speculate="off", logprobs=True))
        for name, request in REQUESTS.items()
    }


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", REQUESTS)
def test_an_answer_is_that_without_guesses(
    engine: EngineCore, plain: dict[str, Completion], policy: str, name: str
) -> None:
    request, right = REQUESTS[name], plain[name]
    guessed = answer(engine, replace(request, speculate=policy))
    with_logprobs = answer(engine, replace(request, speculate=policy, logprobs=True))
    assert_same_but_for_ties(right, with_logprobs)
    assert guessed.text == with_logprobs.text
    if request.sampling.temperature > 0:  # a draw is no tie: the same seed, the same text
        assert guessed.text == right.text
    for a, b in zip(right.logprobs, with_logprobs.logprobs, strict=False):
        if a.token_id != b.token_id:
            break
        assert a.logprob == pytest.approx(b.logprob, abs=0.02)
        assert a.forced == b.forced


@pytest.mark.parametrize("policy", POLICIES)
def test_many_at_once_answer_as_each_alone(
    engine: EngineCore, plain: dict[str, Completion], policy: str
) -> None:
    names = [*REQUESTS, *REQUESTS]
    requests = [replace(REQUESTS[name], speculate=policy, logprobs=True) for name in names]
    for name, got in zip(names, answers(engine, requests), strict=True):
        assert_same_but_for_ties(plain[name], got)


@pytest.mark.parametrize("share", [True, False])
def test_a_draft_reads_a_beginning_again_only_where_nothing_is_shared(
    target: Path, share: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    decode = DraftSource._decode

    def counted(source: DraftSource, n_tokens: int) -> float:
        sizes.append(n_tokens)
        return decode(source, n_tokens)

    monkeypatch.setattr(DraftSource, "_decode", counted)
    request = ask("the server failed, " * 20, max_tokens=4, speculate="draft:1")
    with EngineCore(target, small_options(draft=target, share_prefixes=share)) as engine:
        answer(engine, request)
        sizes.clear()
        answer(engine, request)
    assert (max(sizes) > 20) != share


def test_a_draft_that_is_right_saves_steps(target: Path) -> None:
    request = ask("the server", max_tokens=41, speculate="draft:4")
    with EngineCore(target, small_options(draft=target)) as engine:
        told = answer(engine, request).speculation
    assert told is not None
    assert told.guessed == told.right == told.sources[0][2] > 0
    assert told.steps <= 10
    assert told.tokens_per_step > 4
    assert told.by_position[0] == (told.by_position[0][0],) * 2
    assert "draft" in told.verdict


def test_drawn_guesses_are_right_as_often_as_they_can_be(target: Path) -> None:
    """A draft that is the model itself, drawing from all but the same distribution."""
    sampling = Sampling(temperature=1.0, seed=1, top_k=20, top_p=1.0, min_p=0.0)
    request = ask("the server", max_tokens=40, sampling=sampling)
    with EngineCore(target, small_options(draft=target)) as engine:
        drawn = answer(engine, replace(request, speculate="drawn:4")).speculation
        matched = answer(engine, replace(request, speculate="draft:4")).speculation
    assert drawn is not None
    assert matched is not None
    assert drawn.right > 0.95 * drawn.guessed
    assert matched.right < 0.8 * matched.guessed


def test_rejected_guesses_are_counted_by_position(tiny_full: Path, tmp_path: Path) -> None:
    draft = build_tiny("full", tmp_path / "draft.gguf", seed=9)
    with EngineCore(tiny_full, small_options(draft=draft)) as engine:
        told = answer(engine, ask("the server", max_tokens=40, speculate="draft:3")).speculation
    assert told is not None
    assert told.right < told.guessed
    assert told.by_position[0][0] > told.by_position[0][1]
    assert sum(right for _, right in told.by_position) == told.right


def test_auto_leaves_out_a_draft_as_large_as_the_model(tiny_full: Path) -> None:
    with EngineCore(tiny_full, small_options(draft=tiny_full)) as engine:
        told = answer(engine, ask("the server", max_tokens=60)).speculation
    assert told is not None
    assert told.policy == "auto"
    assert told.verdict


@pytest.mark.parametrize("kind", ["recurrent", "hybrid"])
def test_a_memory_that_cannot_roll_back_says_so(tiny_models: dict[str, Path], kind: str) -> None:
    with EngineCore(tiny_models[kind], small_options()) as engine:
        told = answer(engine, ask("in the in the", max_tokens=4)).speculation
        assert told is not None
        assert told.verdict == f"off: a {kind} memory cannot take back a wrong guess"
        with pytest.raises(InputError, match=f"a {kind} memory cannot take back"):
            engine.submit(ask("in the", speculate="ngram:4"))


def test_a_draft_of_another_vocabulary_is_refused(tiny_full: Path, tmp_path: Path) -> None:
    draft = build_tiny("full", tmp_path / "large.gguf", n_vocab=1000)
    with pytest.raises(InputError, match="they have 1,000 and"):
        EngineCore(tiny_full, small_options(draft=draft))


def test_a_draft_that_is_not_there_cannot_be_fixed(tiny_full: Path) -> None:
    with (
        EngineCore(tiny_full, small_options()) as engine,
        pytest.raises(InputError, match="there is no draft model"),
    ):
        engine.submit(ask("in the", speculate="draft:4"))
