"""Log-probabilities of other tokens, biases and penalties: held to the formulas, step by step."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from engine_helpers import answer, ask, small_options

from vedette.engine.core import EngineCore
from vedette.engine.penalties import Penalties
from vedette.engine.sampling import likeliest
from vedette.errors import InputError
from vedette.types import Constraint, Sampling

TEXT = "level level service 日志"


@pytest.fixture(scope="module")
def engine(tiny_full):
    with EngineCore(tiny_full, small_options()) as opened:
        yield opened


def how(**fields) -> Sampling:
    return Sampling(**fields)


def told(engine, n_tokens=12, **fields):
    fields = {"logprobs": True, "top_logprobs": 20, **fields}
    return answer(engine, ask(TEXT, max_tokens=n_tokens, **fields)).logprobs


def test_the_formula_is_openais():
    sampling = how(presence_penalty=0.5, frequency_penalty=-0.25, logit_bias=((1, 2.0), (3, -1.5)))
    penalties = Penalties(sampling)
    for token in (0, 3, 3):
        penalties.took(token)
    row = np.zeros(5, np.float32)
    penalties.apply(row)
    assert row.tolist() == [-0.5 + 0.25, 2.0, 0.0, -1.5 - 0.5 + 2 * 0.25, 0.0]
    penalties.restart([2])
    row = np.zeros(5, np.float32)
    penalties.apply(row)
    assert row.tolist() == [0.0, 2.0, -0.25, -1.5, 0.0]


def test_an_answer_without_any_pays_for_none():
    assert Penalties.of(how(temperature=1.0, repeat_penalty=1.1)) is None


def test_the_likeliest_are_in_order_and_ties_go_to_the_lower_number():
    assert likeliest(np.array([1, 3, 0, 3, 2], np.float32), 4) == [1, 3, 4, 0]
    assert likeliest(np.array([1, 2], np.float32), 20) == [1, 0]


def test_the_likeliest_tokens_are_told_with_each_of_the_answers(engine):
    for one in told(engine):
        assert len(one.top) == 20
        values = [each.logprob for each in one.top]
        assert values == sorted(values, reverse=True)
        assert (one.top[0].token_id, one.top[0].logprob) == (one.token_id, one.logprob)
        assert sum(map(math.exp, values)) <= 1 + 1e-6


def test_control_tokens_are_told_by_their_spelling(engine):
    n_vocab = engine.tokenizer.n_vocab
    row = np.zeros(n_vocab, np.float32)
    end = engine.tokenizer.encode_text("<|im_end|>", special=True)[0]
    row[end] = 9.0
    from vedette.engine.trace import Trace

    trace = Trace(engine.tokenizer, wanted=True, n_top=1)
    trace.known(row[None, :], [0])
    assert trace.entries[0].top[0].text == "<|im_end|>"


def test_forced_tokens_have_their_likeliest_too(engine):
    entries = told(engine, constraint=Constraint("regex", "(level|label): yes"))
    assert any(one.forced for one in entries)
    assert all(len(one.top) == 20 for one in entries)


def test_guesses_change_nothing_of_what_is_told(engine):
    plain = told(engine, 40, speculate="off")
    guessed = told(engine, 40, speculate="ngram:4")
    assert [one.token_id for one in guessed] == [one.token_id for one in plain]
    for one, other in zip(plain, guessed, strict=True):
        assert [each.token_id for each in one.top[:3]] == [each.token_id for each in other.top[:3]]
        for each, same in zip(one.top, other.top, strict=True):
            assert each.logprob == pytest.approx(same.logprob, abs=0.05)


@pytest.mark.parametrize("speculate", ["off", "ngram:4"])
@pytest.mark.parametrize(
    "sampling",
    [
        how(presence_penalty=2.0, frequency_penalty=1.5),
        how(presence_penalty=-2.0, frequency_penalty=-1.0),
    ],
)
def test_each_token_is_the_best_after_what_the_answer_has_so_far(engine, sampling, speculate):
    """Told log-probabilities are those before the penalties, so the choice can be made again."""
    counts: Counter[int] = Counter()
    for one in told(engine, 40, sampling=sampling, speculate=speculate):

        def value(each):
            n = counts[each.token_id]
            penalty = (n > 0) * sampling.presence_penalty + n * sampling.frequency_penalty
            return each.logprob - penalty

        best = max(one.top, key=value)
        n = counts[one.token_id]
        own = one.logprob - (n > 0) * sampling.presence_penalty - n * sampling.frequency_penalty
        assert own >= value(best) - 1e-4
        counts[one.token_id] += 1
    if sampling.presence_penalty > 0:
        assert max(counts.values()) < 40


def test_a_bias_bans_a_token_or_makes_it_the_only_one(engine):
    first, second = (one.token_id for one in told(engine, 1)[0].top[:2])
    banned = told(engine, 1, sampling=how(logit_bias=((first, -100.0),)))
    assert banned[0].token_id == second
    assert banned[0].top[0].token_id == first  # what is told is before the bias
    only = told(engine, 5, sampling=how(logit_bias=((second, 100.0),), temperature=1.5, seed=3))
    assert {one.token_id for one in only} == {second}


def test_forced_tokens_count(engine):
    """Two lines of one pattern: with a heavy penalty the second letter is another one."""
    free = Constraint("regex", "[ab]: [ab]")
    a, b = (engine.tokenizer.encode_text(letter)[0] for letter in "ab")
    sampling = how(frequency_penalty=2.0, presence_penalty=2.0, logit_bias=((a, 100.0), (b, 97.0)))
    text = answer(engine, ask(TEXT, constraint=free, sampling=sampling)).text
    assert text == "a: b"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"sampling": how(presence_penalty=2.5)}, "presence_penalty must be from -2 to 2"),
        ({"sampling": how(frequency_penalty=math.nan)}, "frequency_penalty"),
        ({"sampling": how(logit_bias=((1, 101.0),))}, "logit_bias of token 1"),
        ({"sampling": how(logit_bias=((1, 1.0), (1, 2.0)))}, "twice"),
        ({"sampling": how(logit_bias=((10**6, 1.0),))}, "1000000 is no token"),
        ({"top_logprobs": 3}, "goes with logprobs"),
        ({"top_logprobs": 21, "logprobs": True}, "from 0 to 20"),
    ],
)
def test_what_no_answer_can_be_made_with_is_refused(engine, fields, reason):
    with pytest.raises(InputError, match=reason):
        engine.submit(ask(TEXT, **fields))
