"""Policies compared within one engine, on tiny random models."""

from __future__ import annotations

import pytest

from vedette.config import load
from vedette.errors import InputError
from vedette.spec.bench.engine_side import EngineSide
from vedette.spec.bench.prompts import BenchPrompt, choose, parse_prompts
from vedette.spec.bench.report import report_of
from vedette.spec.bench.run import measure

TEXTS = ("the server failed, the server failed, the", "in the in the in", "error of a message")
PROMPTS = parse_prompts("\n".join(f'{{"prompt": "{text}"}}' for text in TEXTS), "texts")


@pytest.fixture
def open_side(tiny_full, monkeypatch):
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    opened: list[EngineSide] = []

    def open_side(*policies: str, draft: bool = False, max_tokens: int = 16) -> EngineSide:
        settings = load(
            model=str(tiny_full), draft=str(tiny_full) if draft else None, threads=1, offline=True
        )
        opened.append(EngineSide(settings, policies, max_tokens))
        return opened[-1]

    yield open_side
    for side in opened:
        side.close()


def test_every_policy_answers_with_its_own_account(open_side):
    side = open_side("off", "auto", "ngram:3", "draft:4", draft=True)
    report = report_of(side, measure(side, choose(PROMPTS, None)))
    assert report.n_prompts == 3
    assert report.no_ops == {}
    draft, plain = report.of("draft:4"), report.of("off")
    assert draft.acceptance == pytest.approx(1.0)  # it is its own draft
    assert draft.tokens_per_step > 3
    assert len(draft.positions) == 4
    assert (plain.guessed, plain.tokens_per_step) == (0, 1.0)
    assert report.divergences == ()


def test_the_same_policy_twice_has_two_names(open_side):
    side = open_side("off", "off")
    assert [variant.name for variant in side.variants] == ["off", "off (2)"]
    report = report_of(side, measure(side, PROMPTS))
    assert report.of("off (2)").writing is not None


def test_no_answer_finds_its_prompt_in_a_cache(open_side):
    side = open_side("off", "draft:1", "draft:2", draft=True)
    for variant in side.variants:
        side.ask(variant, PROMPTS[0])
    engine = side._backend.engine
    (draft,) = [s for s in engine._loop._speculator._sources.values() if s.name == "draft"]
    texts = [len(place.tokens) for place in draft._places if place.tokens]
    # What the second one left there has driven out what the first one had read.
    assert len([n for n in texts if n > 20]) == 1
    done = side._complete(side._request(PROMPTS[0], "off"))
    assert done.usage.cached_tokens == 0


def test_a_difference_is_found_where_the_baseline_would_have_gone_on(open_side):
    side = open_side("off", "auto")
    prompt = BenchPrompt("x", "own", "the server")
    base = side.ask(side.variants[0], prompt)
    changed = base.text[:7] + ("#" if base.text[7] != "#" else "+") + base.text[8:]
    other = type(base).of({**base.as_dict(), "text": changed})
    gap = side.gap(prompt, base, other)
    assert gap.logit_gap is not None
    assert gap.logit_gap > 0
    assert 0 <= gap.n_same < base.tokens
    # An answer that the baseline does not give again has no gap to be told.
    never, either = (type(base).of({**base.as_dict(), "text": "zzzz" + c}) for c in "12")
    assert side.gap(prompt, never, either).logit_gap is None


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (("off",), "needs two"),
        (("off", "sometimes"), "speculate is 'sometimes'"),
        (("off", "draft:4"), "draft:4 needs a draft model"),
    ],
)
def test_policies_that_cannot_be_are_told(open_side, policies, message):
    with pytest.raises(InputError, match=message):
        open_side(*policies)
