"""A text is the same however it was computed, on every kind of memory."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_helpers import (
    Reference,
    answer,
    answers,
    ask,
    assert_nothing_leaked,
    assert_same_but_for_ties,
    chat,
    small_options,
)

from vedette.engine.core import EngineCore
from vedette.errors import BudgetTooSmall, InputError
from vedette.types import Constraint, Prompt, Request, Sampling

# Digits and these separators are single bytes without merges: one way to write them in tokens.
DIGITS = Constraint("regex", r"##%%[0-9]{3}%%##[0-9]{2}%%##%%[0-9]##")
SCHEMA = Constraint(
    "json_schema",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "level": {"enum": ["INFO", "WARN", "ERROR"]},
                "ok": {"type": "boolean"},
                "parts": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0, "maximum": 9},
                    "maxItems": 5,
                },
            },
            "required": ["level", "ok", "parts"],
        }
    ),
)
SENTENCES = [
    f"item {i}: the server failed {'again ' * (i % 5)}on request {i * 7}" for i in range(12)
]


@pytest.fixture(scope="module")
def engine(tiny_any: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_any, small_options()) as engine:
        yield engine
        assert_nothing_leaked(engine)


@pytest.fixture(scope="module")
def bare(tiny_any: Path) -> Iterator[EngineCore]:
    """One at a time, nothing shared, nothing forced."""
    options = small_options(width=1, use_forced=False, share_prefixes=False)
    with EngineCore(tiny_any, options) as engine:
        yield engine
        assert_nothing_leaked(engine)


@pytest.fixture(scope="module")
def reference(tiny_any: Path) -> Iterator[Reference]:
    reference = Reference(tiny_any)
    yield reference
    reference.close()


def requests(constraint: Constraint | None = None) -> list[Request]:
    """Items behind a shared part, which is 50 tokens or so."""
    head = "Say what each of the following lines of a log is about. Level, service, message."
    return [
        Request(
            prompt=chat(head, text, shared=1),
            max_tokens=60 if constraint else 24,
            constraint=constraint,
            logprobs=True,
        )
        for text in SENTENCES
    ]


def test_greedy_is_deterministic(engine: EngineCore) -> None:
    request = ask("the server", max_tokens=40, logprobs=True)
    first, second = answer(engine, request), answer(engine, request)
    assert_same_but_for_ties(first, second)
    assert first.finish_reason == "length"
    assert first.usage.completion_tokens == 40


@pytest.mark.parametrize("constraint", [None, DIGITS], ids=["free", "constrained"])
def test_sixteen_at_once_with_shared_prefixes_say_what_each_alone_says(
    engine: EngineCore, bare: EngineCore, constraint: Constraint | None
) -> None:
    asked = requests(constraint)
    together, alone = answers(engine, asked), answers(bare, asked)
    for left, right in zip(together, alone, strict=True):
        assert_same_but_for_ties(left, right)
    assert sum(completion.usage.cached_tokens for completion in together) > 0
    assert sum(completion.usage.cached_tokens for completion in alone) == 0


def test_forced_tokens_change_the_work_and_not_the_text(engine: EngineCore, tiny_any: Path) -> None:
    with EngineCore(tiny_any, small_options(use_forced=False)) as unforced:
        for request in requests(DIGITS)[:6]:
            with_forced, without = answer(engine, request), answer(unforced, request)
            assert_same_but_for_ties(with_forced, without)
            assert with_forced.usage.forced_tokens >= 4
            assert without.usage.forced_tokens == 0


def test_a_schema_gives_valid_json_on_one_line_however_it_is_batched(engine: EngineCore) -> None:
    for completion in answers(engine, requests(SCHEMA)):
        value = json.loads(completion.text)
        assert value.keys() == {"level", "ok", "parts"}
        assert completion.text == json.dumps(value)
        assert completion.usage.forced_tokens > 0


def test_forty_requests_of_random_length_all_finish(engine: EngineCore) -> None:
    chance = random.Random(1)
    asked = [
        ask(" server" * chance.randint(1, 300), max_tokens=chance.randint(1, 40)) for _ in range(40)
    ]
    for request, completion in zip(asked, answers(engine, asked), strict=True):
        assert completion.usage.completion_tokens == request.max_tokens
        assert completion.finish_reason == "length"


@pytest.mark.parametrize("n", [1, 2, 17])
def test_max_tokens_is_exact(engine: EngineCore, n: int) -> None:
    completion = answer(engine, ask("the server", max_tokens=n, logprobs=True))
    assert completion.usage.sampled_tokens == len(completion.logprobs) == n


def test_a_seed_reproduces_and_another_differs(bare: EngineCore) -> None:
    def sampled(seed: int) -> str:
        sampling = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=seed)
        return answer(bare, ask("the server", max_tokens=30, sampling=sampling)).text

    assert sampled(7) == sampled(7)
    assert sampled(-1) == sampled(-1)  # llama.cpp's own mark for a random seed
    assert len({sampled(seed) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    "sampling",
    [Sampling(), Sampling(temperature=1.0, seed=3), Sampling(repeat_penalty=1.3)],
    ids=["greedy", "sampled", "penalised"],
)
@pytest.mark.parametrize("constraint", [None, DIGITS, SCHEMA], ids=["free", "digits", "schema"])
def test_logprobs_are_those_of_a_plain_prefill(
    engine: EngineCore, reference: Reference, constraint: Constraint | None, sampling: Sampling
) -> None:
    text = "message: the request to the server failed"
    request = ask(text, max_tokens=64, constraint=constraint, sampling=sampling, logprobs=True)
    prompt = reference.model.tokenize(text, special=True)
    for _ in range(2):  # the second time the prompt is in the cache
        completion = answer(engine, request)
        given = [entry.logprob for entry in completion.logprobs]
        expected = reference.logprobs(prompt, [entry.token_id for entry in completion.logprobs])
        assert given == pytest.approx(expected, abs=0.05)
        n_forced = sum(entry.forced for entry in completion.logprobs)
        assert n_forced == completion.usage.forced_tokens
        assert len(given) == completion.usage.completion_tokens
        if constraint is not None:
            assert n_forced > 0


def test_the_gap_to_the_runner_up_is_the_reference_s(
    engine: EngineCore, reference: Reference
) -> None:
    text = "the service is not connected"
    completion = answer(engine, ask(text, max_tokens=20, logprobs=True))
    tokens = [entry.token_id for entry in completion.logprobs]
    prompt = reference.model.tokenize(text, special=True)
    table = reference.log_softmax([*prompt, *tokens])[len(prompt) - 1 : -1]
    table.sort(axis=1)
    gaps = [entry.runner_up_gap for entry in completion.logprobs]
    assert gaps == pytest.approx(list(table[:, -1] - table[:, -2]), abs=0.1)


def test_streamed_pieces_are_the_text(engine: EngineCore) -> None:
    for request in (ask("the", max_tokens=50), ask("{", max_tokens=60, constraint=SCHEMA)):
        ticket = engine.submit(request)
        pieces = list(ticket)
        assert "".join(pieces) == ticket.result(0).text
        assert len(pieces) > 1


def test_a_stop_string_ends_the_text_before_it(engine: EngineCore) -> None:
    whole = answer(engine, ask("the server", max_tokens=40)).text
    stop = whole[len(whole) // 2 :][:3]
    completion = answer(engine, ask("the server", max_tokens=40, stop=("never said", stop)))
    assert completion.text == whole[: whole.index(stop)]
    assert completion.finish_reason == "stop"
    assert completion.usage.completion_tokens < 40


def test_usage_adds_up(tiny_any: Path) -> None:
    prompt = chat("The same head for all of these, long enough to be worth it.", "x", shared=1)
    with EngineCore(tiny_any, small_options()) as engine:
        n_prompt = len(engine.tokenizer.encode(prompt).ids)
        request = Request(prompt=prompt, max_tokens=60, constraint=SCHEMA)
        usages = [answer(engine, request).usage for _ in range(2)]
    assert [usage.prompt_tokens for usage in usages] == [n_prompt, n_prompt]
    assert usages[0].cached_tokens == 0
    assert 0 < usages[1].cached_tokens < n_prompt
    # All of an answer but its end is decoded too: the last token, and those forced after it.
    computed = sum(usage.prompt_tokens - usage.cached_tokens for usage in usages)
    decoded = engine.stats.tokens_decoded - (engine.stats.guessed - engine.stats.guesses_right)
    assert computed <= decoded
    assert decoded < computed + sum(u.completion_tokens for u in usages)
    assert usages[0].completion_tokens == usages[0].forced_tokens + usages[0].sampled_tokens > 10


def test_cached_tokens_never_exceed_the_prompt(engine: EngineCore) -> None:
    # The answer opens with forced tokens, which are in the cache the second time.
    request = ask("level", max_tokens=64, constraint=SCHEMA)
    for _ in range(3):
        usage = answer(engine, request).usage
        assert usage.cached_tokens <= usage.prompt_tokens


def test_an_answer_that_is_wholly_forced_needs_no_step(tiny_any: Path) -> None:
    with EngineCore(tiny_any, small_options()) as engine:
        completion = answer(engine, ask("x", constraint=Constraint("choice", '["level"]')))
    assert completion.text == "level"
    assert completion.finish_reason == "stop"
    assert completion.usage.sampled_tokens == 0
    assert engine.stats.steps == 0


def test_an_answer_that_is_wholly_forced_has_logprobs_all_the_same(
    engine: EngineCore, reference: Reference
) -> None:
    request = ask("the", constraint=Constraint("choice", '["level service"]'), logprobs=True)
    completion = answer(engine, request)
    tokens = [entry.token_id for entry in completion.logprobs]
    assert len(tokens) == completion.usage.forced_tokens == 2
    expected = reference.logprobs(reference.model.tokenize("the"), tokens)
    assert [entry.logprob for entry in completion.logprobs] == pytest.approx(expected, abs=0.05)


def test_a_budget_that_no_json_fits_is_an_error_and_not_cut_json(engine: EngineCore) -> None:
    with pytest.raises(BudgetTooSmall, match="max_tokens is 9, and an answer needs"):
        answer(engine, ask("{", max_tokens=9, constraint=SCHEMA))


def test_a_budget_smaller_than_what_is_forced_is_refused_at_once(engine: EngineCore) -> None:
    with pytest.raises(BudgetTooSmall, match="max_tokens is 1, and an answer needs"):
        engine.submit(ask("{", max_tokens=1, constraint=SCHEMA))


def test_a_constraint_that_may_end_anywhere_is_cut_without_an_error(engine: EngineCore) -> None:
    completion = answer(engine, ask("x", max_tokens=5, constraint=Constraint("regex", "[a-z]+")))
    assert completion.finish_reason == "length"
    assert completion.usage.completion_tokens == 5
    assert completion.text.isalpha()


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        (ask("x", max_tokens=0), "max_tokens"),
        (ask("x", max_tokens=-3), "max_tokens"),
        (ask("x", sampling=Sampling(temperature=-1.0)), "temperature"),
        (ask("x", sampling=Sampling(temperature=float("nan"))), "temperature"),
        (ask("x", sampling=Sampling(temperature=1.0, top_p=1.5)), "top_p"),
        (ask("x", sampling=Sampling(temperature=1.0, min_p=-0.1)), "min_p"),
        (ask("x", sampling=Sampling(repeat_penalty=0.0)), "repeat_penalty"),
        (ask(""), "prompt is empty"),
        (Request(prompt=Prompt()), "no message"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_at_once(
    engine: EngineCore, request_: Request, what: str
) -> None:
    with pytest.raises(InputError, match=what):
        engine.submit(request_)
