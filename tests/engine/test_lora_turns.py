"""Turns, errands and cells: the parts that adapters stand on."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.engine.cells import Cells
from vedette.engine.errands import Errands
from vedette.engine.llama.adapter import NO_ADAPTERS, AdapterSet
from vedette.engine.past import Past
from vedette.engine.prefix import PrefixTree
from vedette.engine.sequence import Sequence
from vedette.engine.turns import Turns
from vedette.errors import EngineFailed

X, Y = (AdapterSet(((object(), 1.0),)) for _ in range(2))


def live(adapters: AdapterSet, n_pending: int = 1) -> Sequence:
    return Sequence(work=None, tokens=[1] * n_pending, n_prompt=1, n_total=9, adapters=adapters)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


# Turns


def test_a_step_is_made_of_one_set_of_adapters() -> None:
    sequences = [live(X), live(Y), live(X), live(NO_ADAPTERS)]
    turns = Turns(1.0, Clock())
    assert turns.group(sequences) == [sequences[0], sequences[2]]


def test_a_turn_lasts_its_time_and_then_the_next_has_its_own() -> None:
    clock = Clock()
    turns = Turns(1.0, clock)
    sequences = [live(X), live(Y), live(NO_ADAPTERS)]
    seen = []
    for clock.now in (0.0, 0.5, 0.99, 1.0, 1.9, 2.1, 3.2):
        seen += [each.adapters for each in turns.group(sequences)]
    assert seen == [X, X, X, Y, Y, NO_ADAPTERS, X]


def test_who_is_alone_goes_on_and_a_newcomer_need_not_wait_for_long() -> None:
    clock = Clock()
    turns = Turns(1.0, clock)
    assert turns.group([live(X)])
    clock.now = 50.0
    both = [live(X), live(Y)]
    assert turns.group(both)[0].adapters is Y
    clock.now = 50.5
    assert turns.group(both)[0].adapters is Y
    clock.now = 51.0
    assert turns.group(both)[0].adapters is X


def test_a_group_with_nothing_to_compute_has_no_turn() -> None:
    turns = Turns(1.0, Clock())
    waiting = live(X, n_pending=0)
    assert turns.group([waiting]) == []
    assert turns.group([waiting, live(Y)])[0].adapters is Y


@given(st.lists(st.sets(st.sampled_from([0, 1, 2, 3]), min_size=1), min_size=8, max_size=60))
def test_nobody_is_passed_over(arrivals) -> None:
    sets = [NO_ADAPTERS, X, Y, AdapterSet(((object(), 1.0),))]
    turns = Turns(0.0, Clock())
    waited = dict.fromkeys(range(4), 0)
    for wanted in arrivals:
        group = turns.group([live(sets[i]) for i in wanted])
        for i in range(4):
            has_turn = sets[i] == group[0].adapters
            waited[i] = 0 if has_turn or i not in wanted else waited[i] + 1
        assert max(waited.values()) <= 3


# Errands


def test_an_errand_is_done_by_the_loop_and_brings_what_it_found() -> None:
    errands = Errands(threading.Condition())
    results: list[object] = []

    def ask(errand) -> None:
        try:
            results.append(errands.run(errand))
        except ValueError as error:
            results.append(error)

    def broken(_room: object) -> None:
        raise ValueError("no")

    for errand in (lambda room: f"done in {room}", broken):
        asking = threading.Thread(target=ask, args=(errand,))
        asking.start()
        while not errands:
            pass
        errands.do_all("here")
        asking.join(10)
    assert results[0] == "done in here"
    assert isinstance(results[1], ValueError)


def test_who_waits_when_the_loop_ends_is_told_and_nobody_may_come_after() -> None:
    errands = Errands(threading.Condition())
    told: list[EngineFailed] = []

    def ask() -> None:
        with pytest.raises(EngineFailed, match="closed") as caught:
            errands.run(lambda _: None)
        told.append(caught.value)

    asking = threading.Thread(target=ask)
    asking.start()
    while not errands:
        pass
    errands.close(None)
    asking.join(10)
    assert told
    with pytest.raises(EngineFailed, match="closed"):
        errands.run(lambda _: None)
    errands.post(lambda _: None)  # there is nothing left that it could be done to
    assert not errands


# Cells and prefixes


@given(
    st.lists(
        st.tuples(st.sampled_from([None, X, Y]), st.lists(st.integers(0, 1), max_size=6)),
        min_size=1,
        max_size=12,
    ),
    st.lists(st.integers(0, 1), min_size=1, max_size=6),
)
def test_a_match_is_of_its_own_space(owners, asked) -> None:
    tree = PrefixTree()
    for owner, (space, tokens) in enumerate(owners):
        tree.insert(owner, tokens, space)
    for space in (None, X, Y):
        own = [tokens for of, tokens in owners if of is space]
        best = max((_n_common(tokens, asked) for tokens in own), default=0)
        assert tree.holders_of(asked, space) == {
            owner for owner, (of, tokens) in enumerate(owners) if of is space and tokens == asked
        }
        match = tree.longest(asked, space)
        assert (match.n_tokens if match else 0) == best
        assert match is None or owners[match.owner][0] is space
    for owner in range(len(owners)):
        tree.remove(owner)
    assert len(tree) == 0
    assert not tree._roots


def _n_common(left: list[int], right: list[int]) -> int:
    n = 0
    while n < min(len(left), len(right)) and left[n] == right[n]:
        n += 1
    return n


class FakeContext:
    cells = 64
    spec = SimpleNamespace(n_seq=8)
    drops_suffix = True

    def __init__(self) -> None:
        self.shared: list[tuple[int, int, int]] = []

    def share(self, source: int, target: int, n_tokens: int) -> None:
        self.shared.append((source, target, n_tokens))

    def drop(self, seq_id: int) -> None:
        pass

    def truncate(self, seq_id: int, n_tokens: int) -> bool:
        return True


def test_cells_of_one_set_never_start_a_sequence_of_another() -> None:
    cells = Cells(FakeContext(), idle_cells=64)
    tokens = [1, 2, 3, 4]
    cells.finish(cells.start(tokens, 6, 1, X), keep=tokens)
    assert cells.covers(tokens, X)
    assert not cells.covers(tokens, Y)
    assert not cells.covers(tokens)
    for adapters, n_cached in ((Y, 0), (NO_ADAPTERS, 0), (X, 4)):
        start = cells.start(tokens, 6, 1, adapters)
        assert start.n_cached == n_cached
        cells.finish(start)


def test_cells_forget_an_adapter_in_all_the_sets_that_hold_it() -> None:
    cells = Cells(FakeContext(), idle_cells=64)
    both = AdapterSet((*X.parts, *Y.parts))
    for adapters in (X, Y, both, NO_ADAPTERS):
        cells.finish(cells.start([1, 2], 3, 1, adapters), keep=[1, 2])
    cells.forget(X.parts[0][0])
    kept = [adapters for adapters in (X, Y, both, NO_ADAPTERS) if cells.covers([1, 2], adapters)]
    assert kept == [Y, NO_ADAPTERS]


def test_what_a_live_sequence_has_read_is_offered_under_its_own_adapters_only() -> None:
    cells = Cells(FakeContext(), idle_cells=64)
    tokens = [7] * 40
    reading = cells.start(tokens, 42, 1, X)
    cells.read(reading.seq_id, tokens)
    assert cells.n_known(tokens, X) == 40
    assert cells.n_known(tokens, Y) == 0
    assert cells.n_known(tokens) == 0


def test_a_chain_of_kept_beginnings_is_forgotten_as_a_whole() -> None:
    context = FakeContext()
    context.cells = 1024
    cells = Cells(context, idle_cells=1024)
    for n in (40, 80, 120):
        tokens = [*range(n)]
        start = cells.start(tokens, n + 2, 1, X)
        cells.read(start.seq_id, tokens)
        cells.finish(start, keep=tokens)
    other = cells.start([*range(40)], 42, 1, Y)
    cells.finish(other, keep=[*range(40)])
    cells.forget(X.parts[0][0])
    assert cells.kept_cells == 40
    assert cells.n_known([*range(120)], X) == 0
    assert cells.n_known([*range(120)], Y) == 40
    assert cells.n_free_ids == FakeContext.spec.n_seq - 1


def test_prompts_of_the_past_say_nothing_of_other_adapters() -> None:
    past = Past()
    past.add([1, 2, 3], X)
    assert past.common([1, 2, 4], X).n_tokens == 2
    assert past.common([1, 2, 4], Y).n_tokens == 0
