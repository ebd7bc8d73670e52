"""As many requests at once as a server answers well; without a clock, so without waiting."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.backends.concurrency import AdaptiveLimit, Gate


def window(limit: AdaptiveLimit, *, seconds: float = 1.0, n_tokens: int = 10) -> None:
    """As many answers as the limit allows at once."""
    for begun in [limit.begin() for _ in range(limit.value)]:
        limit.answered(begun, seconds, n_tokens)


def test_it_grows_by_one_for_each_window_of_answers_up_to_the_most():
    limit = AdaptiveLimit(6, start=2)
    seen = [limit.value]
    for _ in range(6):
        window(limit)
        seen.append(limit.value)
    assert seen == [2, 3, 4, 5, 6, 6, 6]


def test_a_burst_of_refusals_halves_it_once():
    limit = AdaptiveLimit(16, start=16)
    begun = [limit.begin() for _ in range(16)]
    for one in begun:
        limit.refused(one)
    assert (limit.value, limit.cuts) == (8, 1)
    limit.refused(limit.begin())
    assert (limit.value, limit.cuts) == (4, 2)


def test_answers_to_requests_from_before_a_cut_do_not_make_it_grow():
    limit = AdaptiveLimit(8, start=4)
    early = [limit.begin() for _ in range(4)]
    limit.refused(early[0])
    for one in early[1:]:
        limit.answered(one, 1.0, 10)
    assert limit.value == 2


def test_answers_that_cost_far_more_than_at_best_halve_it():
    limit = AdaptiveLimit(16, start=4, slow_factor=4)
    window(limit, seconds=1.0)
    assert limit.value == 5
    window(limit, seconds=3.9)
    assert limit.value == 6
    window(limit, seconds=4.5)
    assert limit.value == 3


def test_the_cost_is_by_the_token_so_that_long_answers_are_no_slow_ones():
    limit = AdaptiveLimit(16, start=4, slow_factor=4)
    window(limit, seconds=1.0, n_tokens=10)
    window(limit, seconds=100.0, n_tokens=1000)
    assert limit.value == 6


def test_without_a_slow_factor_only_refusals_count():
    limit = AdaptiveLimit(16, start=4, slow_factor=None)
    window(limit, seconds=1.0)
    window(limit, seconds=1000.0)
    assert limit.value == 6


@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 100), st.integers(0, 50)), max_size=200))
def test_it_stays_within_its_bounds_whatever_happens(happenings):
    limit = AdaptiveLimit(9)
    for is_answer, seconds, n_tokens in happenings:
        if is_answer:
            limit.answered(limit.begin(), seconds, n_tokens)
        else:
            limit.refused(limit.begin())
        assert 1 <= limit.value <= 9


def test_the_gate_lets_in_as_many_as_the_limit_says_first_come_first_served():
    async def play() -> list[int]:
        limit = AdaptiveLimit(2, start=2)
        gate, order = Gate(limit), list[int]()

        async def guest(number: int) -> None:
            await gate.enter()
            order.append(number)
            assert gate.inside <= 2
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*map(guest, range(10)))
        assert gate.inside == 0
        return order

    assert asyncio.run(play()) == list(range(10))


def test_a_limit_that_was_cut_holds_until_enough_have_left():
    async def play() -> None:
        limit = AdaptiveLimit(4, start=4)
        gate = Gate(limit)
        for _ in range(4):
            await gate.enter()
        waiting = asyncio.ensure_future(gate.enter())
        limit.refused(limit.begin())
        for left in (3, 2):
            gate.leave()
            await asyncio.sleep(0)
            assert (gate.inside, waiting.done()) == (left, False)
        gate.leave()
        await waiting
        assert gate.inside == 2

    asyncio.run(play())


@pytest.mark.parametrize("leave_first", [False, True])
def test_one_that_is_cancelled_while_it_waits_takes_no_place(leave_first):
    async def play() -> None:
        gate = Gate(AdaptiveLimit(1))
        await gate.enter()
        first, second = asyncio.ensure_future(gate.enter()), asyncio.ensure_future(gate.enter())
        await asyncio.sleep(0)
        if leave_first:  # the place is handed over in the same moment
            gate.leave()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        if not leave_first:
            gate.leave()
        await asyncio.wait_for(second, 5)
        assert gate.inside == 1

    asyncio.run(play())


def test_who_gives_up_just_as_a_place_is_free_is_passed_over():
    async def given_up() -> int:
        gate = Gate(AdaptiveLimit(1, start=1))
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        waiting.cancel()
        gate.leave()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await gate.enter()
        return gate.inside

    assert asyncio.run(given_up()) == 1
