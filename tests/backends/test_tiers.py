"""Two backends as one: requests go to their tier, and nothing is left open."""

from __future__ import annotations

import pytest

from vedette.backends.local import LocalBackend
from vedette.backends.open import open_tiers
from vedette.backends.tiers import Tiers
from vedette.config import load
from vedette.engine.options import EngineOptions
from vedette.errors import CapabilityMissing, EngineFailed, InputError, ModelNotFound
from vedette.types import Message, Prompt, Request, ScoreRequest

PROMPT = Prompt((Message("user", "Is it positive?"),))
CHOICES = ("positive", "negative")


@pytest.fixture
def small(tiny_full) -> LocalBackend:
    return LocalBackend(tiny_full, EngineOptions(threads=1, width=2))


@pytest.fixture
def large(tiny_sliding) -> LocalBackend:
    return LocalBackend(tiny_sliding, EngineOptions(threads=1, width=3))


@pytest.fixture
def tiers(small, large):
    both = Tiers([small, large])
    yield both
    both.close()


def question(tier: int) -> ScoreRequest:
    return ScoreRequest(prompt=PROMPT, choices=CHOICES, tier=tier)


def test_each_request_is_answered_by_the_model_that_it_names(tiers, small, large):
    handles = [tiers.submit(question(tier)) for tier in (0, 1) * 8]
    got = [handle.result(60).logprobs for handle in handles]
    alone = [one.submit(question(0)).result(60).logprobs for one in (small, large)]
    assert alone[0] != pytest.approx(alone[1])
    for number, logprobs in enumerate(got):
        assert logprobs == pytest.approx(alone[number % 2], abs=0.05)
    texts = [
        tiers.submit(Request(prompt=PROMPT, max_tokens=8, tier=tier)).result(60).text
        for tier in (0, 1)
    ]
    assert texts[0] != texts[1]


def test_the_whole_is_the_smallest_and_its_identity_is_everybodys(tiers, small, large):
    assert tiers.capabilities == small.capabilities
    assert tiers.count_tokens("positive it is") == small.count_tokens("positive it is")
    assert tiers.identity == {"tiers": [small.identity, large.identity]}
    assert tiers.width == small.width + large.width
    assert tiers.show_prompt(question(1)) == large.show_prompt(question(0))
    tiers.check(question(1))
    with pytest.raises(InputError, match="no tier 2"):
        tiers.submit(question(2))


def test_one_model_has_no_second_tier(small):
    try:
        with pytest.raises(CapabilityMissing, match="no tier 1"):
            small.submit(question(1))
    finally:
        small.close()


def test_closing_closes_all_even_if_one_does_not_want_to(small, large, monkeypatch):
    both = Tiers([small, large])
    real = large.close

    def close_badly() -> None:
        real()
        raise EngineFailed("no")

    monkeypatch.setattr(large, "close", close_badly)
    with pytest.raises(EngineFailed, match="no"):
        both.close()
    for one in (small, large):
        with pytest.raises(EngineFailed, match="closed"):
            one.count_tokens("x")


@pytest.fixture
def opened(tiny_full, monkeypatch) -> list[LocalBackend]:
    """The local backends that are opened from now on."""
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "1024")
    found: list[LocalBackend] = []
    start = LocalBackend.__init__

    def noted(self, *arguments, **more) -> None:
        start(self, *arguments, **more)
        found.append(self)

    monkeypatch.setattr(LocalBackend, "__init__", noted)
    return found


def test_a_flag_for_the_model_is_the_smaller_ones(opened, tiny_full, tiny_sliding):
    both = open_tiers(load(model=str(tiny_full), width=2), f"local:{tiny_sliding}")
    assert [one.path for one in opened] == [tiny_full, tiny_sliding]
    assert {one.engine.options.width for one in opened} == {2}
    both.close()


@pytest.mark.parametrize("larger", ["local:/nowhere.gguf", "local:{small}"])
def test_where_the_larger_cannot_be_had_the_smaller_does_not_stay_open(opened, tiny_full, larger):
    with pytest.raises((ModelNotFound, InputError)):
        open_tiers(load(model=str(tiny_full)), larger.format(small=tiny_full))
    assert opened
    for one in opened:
        with pytest.raises(EngineFailed, match="closed"):
            one.count_tokens("x")


def test_a_nonsense_address_is_refused_before_anything_is_loaded(opened, tiny_full):
    with pytest.raises(InputError, match="is no backend"):
        open_tiers(load(model=str(tiny_full)), "nonsense")
    assert opened == []
