"""The longest prefix in the cache is admitted next, nobody too late, nothing computed twice."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.engine.admission import MOST_PASSED, has_place, next_of
from vedette.engine.cells import WORTH_TOKENS
from vedette.engine.embed import EmbedWork
from vedette.engine.sequence import Sequence
from vedette.engine.ticket import Ticket


class NoWork:
    cancelled = False

    def settle(self, sequence: Sequence, rows: object, first_index: int) -> None:
        raise AssertionError("nothing is run")

    def fail(self, error: BaseException) -> None:
        raise AssertionError("nothing fails")


@dataclass
class FakeCells:
    """Knows beginnings by their first token."""

    known: dict[int, int]
    shares: bool = True
    shares_live: bool = True

    def n_known(self, tokens: list[int], adapters: object = None) -> int:
        return self.known.get(tokens[0], 0)


NOTHING_KNOWN = FakeCells({})


def sequence(first: int, n_tokens: int = 200, **fields: int) -> Sequence:
    """A prompt whose tokens are all `first`, but for the last ones."""
    tokens = [first] * (n_tokens - 5) + [900 + first] * 5
    return Sequence(
        work=NoWork(),
        tokens=tokens,
        n_prompt=n_tokens,
        n_total=n_tokens + 10,
        logits_from=n_tokens - 1,
        **fields,
    )


def test_without_anything_in_common_the_oldest_is_next() -> None:
    waiting = [sequence(1), sequence(2), sequence(3)]
    assert next_of(waiting, [], NOTHING_KNOWN) is waiting[0]
    assert next_of([], [], NOTHING_KNOWN) is None


def test_the_longest_prefix_in_the_cache_is_next_and_the_older_of_equals() -> None:
    waiting = [sequence(1), sequence(2), sequence(3), sequence(3)]
    assert next_of(waiting, [], FakeCells({2: 100, 3: 150})) is waiting[2]


def test_what_is_declared_to_be_shared_does_not_count() -> None:
    waiting = [sequence(1, n_shared=20), sequence(2, n_shared=100)]
    assert next_of(waiting, [], FakeCells({1: 20, 2: 100})) is waiting[0]
    a_few = 100 + WORTH_TOKENS - 1
    assert next_of(waiting, [], FakeCells({1: 20, 2: a_few})) is waiting[0]
    assert next_of(waiting, [], FakeCells({1: 20, 2: a_few + 1})) is waiting[1]


def test_one_that_was_passed_over_often_enough_is_next_whatever_the_others_share() -> None:
    cells = FakeCells({2: 150})
    old = sequence(1)
    admitted = []
    for _ in range(MOST_PASSED + 1):
        young = sequence(2)
        chosen = next_of([old, young], [], cells)
        admitted.append(chosen)
        if chosen is young:
            old.n_passed += 1
    assert admitted.index(old) == MOST_PASSED


def test_one_waits_while_another_computes_its_beginning_and_lets_others_by() -> None:
    reading = sequence(1, n_cached=64)
    waiting = [sequence(1), sequence(2)]
    cells = FakeCells({1: 64})
    assert next_of(waiting, [reading], cells) is waiting[1]
    assert next_of(waiting[:1], [reading], cells) is None
    waiting[0].n_passed = MOST_PASSED
    assert next_of(waiting, [reading], cells) is waiting[0]


def test_nobody_waits_for_a_few_tokens_or_for_what_is_read() -> None:
    waiting = [sequence(1)]
    reading = sequence(1, n_cached=10)
    nearly = FakeCells({1: 199 - WORTH_TOKENS + 1})
    assert next_of(waiting, [reading], nearly) is waiting[0]
    reading.n_cached = reading.n_prompt
    assert next_of(waiting, [reading], NOTHING_KNOWN) is waiting[0]


def test_a_memory_that_cannot_be_cut_waits_for_what_is_declared_only() -> None:
    cells = FakeCells({}, shares_live=False)
    reading = sequence(1, n_cached=10)
    waiting = [sequence(1)]
    assert next_of(waiting, [reading], cells) is waiting[0]
    reading.n_shared = waiting[0].n_shared = 50
    assert next_of(waiting, [reading], cells) is None
    reading.n_cached = 50
    assert next_of(waiting, [reading], cells) is waiting[0]


def test_without_sharing_nobody_waits() -> None:
    cells = FakeCells({}, shares=False, shares_live=False)
    waiting = [sequence(1, n_shared=50)]
    assert next_of(waiting, [sequence(1, n_shared=50)], cells) is waiting[0]


def test_twice_as_many_may_be_live_of_what_ends_with_its_prompt() -> None:
    live = [sequence(1) for _ in range(4)]
    short = sequence(2)
    short.work = EmbedWork(Ticket())
    assert not has_place(live, 4, sequence(2))
    assert has_place(live, 4, short)
    assert not has_place(live * 2, 4, short)
    forks = [sequence(1) for _ in range(9)]
    for fork in forks:
        fork.parent = live[0]
    assert has_place([*live[:3], *forks], 4, sequence(2))
