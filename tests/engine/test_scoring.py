"""A score over the trie is what each choice gets by itself, on every kind of memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from engine_helpers import WAIT_S, Reference, assert_nothing_leaked, chat, small_options

from vedette.engine.core import EngineCore
from vedette.engine.score import ChoiceTrie
from vedette.errors import Cancelled, InputTooLong, LabelError
from vedette.types import Prompt, ScoreRequest, Scores

QUESTION = Prompt(raw="the request to the server: level, service, message?")


@pytest.fixture(scope="module")
def engine(tiny_any: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_any, small_options(width=4, n_seq=12)) as engine:
        yield engine
        assert_nothing_leaked(engine)


@pytest.fixture(scope="module")
def reference(tiny_any: Path) -> Iterator[Reference]:
    reference = Reference(tiny_any)
    yield reference
    reference.close()


def score(engine: EngineCore, choices: Sequence[str], prompt: Prompt = QUESTION) -> Scores:
    return engine.submit(ScoreRequest(prompt=prompt, choices=tuple(choices))).result(WAIT_S)


def by_brute_force(reference: Reference, choices: Sequence[str]) -> list[float]:
    """Each choice by a prefill of its own; its end counts where another choice goes on."""
    model = reference.model
    prompt = model.tokenize(QUESTION.raw or "", special=True)
    paths = [model.tokenize(choice) for choice in choices]
    totals = []
    for path in paths:
        table = reference.log_softmax([*prompt, *path])[len(prompt) - 1 :]
        total = math.fsum(table[i, token] for i, token in enumerate(path))
        if any(other != path and other[: len(path)] == path for other in paths):
            total += float(np.logaddexp.reduce(table[-1, list(model.eog_tokens)]))
        totals.append(total)
    return totals


CHOICE_SETS = {
    "one token each": ["yes", "no", "other"],
    "only one": ["positive"],
    "only one, long": ["the server failed on request 77"],
    "one begins another": ["a", "ab", "abc", "b", "abd", "abcxyz"],
    "all below one": ["level", "level service", "level service message"],
    "long and short": ["no", "failed because of the connection to the service", "failed"],
    "Chinese": ["服务错误", "服务", "日志", "中文 €"],
}


@pytest.mark.parametrize("name", CHOICE_SETS)
def test_the_trie_equals_brute_force(engine: EngineCore, reference: Reference, name: str) -> None:
    choices = CHOICE_SETS[name]
    for _ in range(2):  # from scratch, and with the prompt in the cache
        scores = score(engine, choices)
        assert scores.choices == tuple(choices)
        assert scores.logprobs == pytest.approx(by_brute_force(reference, choices), abs=0.05)


def test_two_hundred_choices_are_forked_in_waves(engine: EngineCore, reference: Reference) -> None:
    choices = [f"{a}{b}{'xyz'[: i % 4]}#" for i, a in enumerate("abcdefghij") for b in range(20)]
    assert len(ChoiceTrie(tuple(choices), tuple((i, 1) for i in range(200))).branches) == 200
    scores = score(engine, choices)
    assert scores.logprobs == pytest.approx(by_brute_force(reference, choices), abs=0.05)


def test_many_questions_at_once_get_the_answers_of_each_alone(engine: EngineCore) -> None:
    head = "Which one? The answer is one of the following words."
    prompts = [chat(head, f"line {i} of the log failed", shared=1) for i in range(20)]
    choices = ("yes", "no", "not a word", "not a line", "no way")
    alone = [score(engine, choices, prompt) for prompt in prompts]
    tickets = [engine.submit(ScoreRequest(prompt=prompt, choices=choices)) for prompt in prompts]
    for ticket, expected in zip(tickets, alone, strict=True):
        assert ticket.result(WAIT_S).logprobs == pytest.approx(expected.logprobs, abs=0.05)


def test_choices_that_cover_the_vocabulary_have_probability_one(
    engine: EngineCore, reference: Reference
) -> None:
    letters = [chr(code) for code in range(33, 127)]
    covered = sum(map(math.exp, score(engine, letters).logprobs))
    assert 0 < covered <= 1.0 + 1e-6


def test_a_score_samples_nothing_and_counts_what_it_read(engine: EngineCore) -> None:
    usage = score(engine, ["yes", "no"]).usage
    assert (usage.sampled_tokens, usage.forced_tokens) == (0, 0)
    assert usage.prompt_tokens == len(engine.tokenizer.encode(QUESTION).ids)
    assert 0 <= usage.cached_tokens < usage.prompt_tokens


@pytest.mark.parametrize(
    ("choices", "what"), [((), "at least one"), (("a", ""), "non-empty"), (("a", "a"), "twice")]
)
def test_a_list_that_is_no_choice_is_refused(
    engine: EngineCore, choices: tuple[str, ...], what: str
) -> None:
    with pytest.raises(LabelError, match=what):
        engine.submit(ScoreRequest(prompt=QUESTION, choices=choices))


def test_choices_that_can_never_fit_are_refused_with_both_sizes(engine: EngineCore) -> None:
    with pytest.raises(InputTooLong, match=r"answer may take 4\d\d\d; together at most 4096 fit"):
        engine.submit(ScoreRequest(prompt=QUESTION, choices=("a" * 4200, "b")))


def test_a_cancelled_score_lets_its_forks_go(engine: EngineCore) -> None:
    choices = tuple(f"{i:03d} the long one {'x' * 40}" for i in range(60))
    tickets = [engine.submit(ScoreRequest(prompt=QUESTION, choices=choices)) for _ in range(4)]
    for ticket in tickets[::2]:
        ticket.cancel()
    for ticket in tickets[::2]:
        with pytest.raises(Cancelled):
            ticket.result(WAIT_S)
    left, right = (ticket.result(WAIT_S).logprobs for ticket in tickets[1::2])
    assert left == pytest.approx(right, abs=0.05)
    assert_nothing_leaked(engine)
