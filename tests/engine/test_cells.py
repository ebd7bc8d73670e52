"""Cells and ids are handed out within what there is, and all come back."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from vedette.engine import cells as cells_module
from vedette.engine.cells import WORTH_TOKENS, Cells, Start

N_SEQ = 8
CAPACITY = 64
SPARE_IDS = 2


class FakeContext:
    """Counts physical cells as a unified cache does: shared ones once."""

    def __init__(
        self, *, drops_suffix: bool = True, cells: int = CAPACITY, n_seq: int = N_SEQ
    ) -> None:
        self.cells = cells
        self.spec = SimpleNamespace(n_seq=n_seq)
        self.drops_suffix = drops_suffix
        self._next = 0
        self.held: dict[int, list[int]] = {}

    def share(self, source: int, target: int, n_tokens: int) -> None:
        assert not self.held.get(target), "the target of a share must be empty"
        if not self.drops_suffix:
            assert len(self.held[source]) == n_tokens, "a state cannot be cut"
        assert len(self.held[source]) >= n_tokens
        self.held[target] = self.held[source][:n_tokens]

    def holds(self, seq_id: int, n_tokens: int) -> bool:
        return len(self.held.get(seq_id, ())) >= n_tokens

    def truncate(self, seq_id: int, n_tokens: int) -> None:
        assert self.drops_suffix, "a state cannot be cut"
        self.held[seq_id] = self.held[seq_id][:n_tokens]

    def drop(self, seq_id: int) -> None:
        self.held.pop(seq_id, None)

    def grow(self, seq_id: int, n_tokens: int) -> None:
        own = self.held.setdefault(seq_id, [])
        own.extend(range(self._next, self._next + n_tokens))
        self._next += n_tokens
        assert self.n_occupied <= self.cells, "the cache is over capacity"

    @property
    def n_occupied(self) -> int:
        return len({cell for own in self.held.values() for cell in own})


@dataclass
class Live:
    start: Start
    tokens: list[int]
    n_total: int
    n_cached: int
    n_prompt: int
    forks: list[int] = field(default_factory=list)
    fork_cells: int = 0


class CellsInUse(RuleBasedStateMachine):
    """Sequences start, grow to what they reserved, fork, are kept and finish, in any order."""

    @initialize(drops_suffix=st.booleans(), idle_cells=st.integers(0, CAPACITY))
    def begin(self, drops_suffix: bool, idle_cells: int) -> None:
        # Prompts of tens of tokens are enough to have something in common.
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(cells_module, "WORTH_TOKENS", 3)
        self.context = FakeContext(drops_suffix=drops_suffix)
        self.cells = Cells(self.context, idle_cells=idle_cells)
        self.live: list[Live] = []

    @rule(prompt=st.lists(st.integers(0, 1), min_size=1, max_size=30), n_more=st.integers(1, 34))
    def start(self, prompt: list[int], n_more: int) -> None:
        n_total = len(prompt) + n_more
        start = self.cells.start(prompt[:-1], n_total, SPARE_IDS)
        if start is None:
            assert self.live, "a sequence that fits must get room when nothing else is live"
            return
        assert start.n_cached < len(prompt)
        assert len(self.context.held.get(start.seq_id, ())) == start.n_cached
        tokens = [*prompt, *[2] * n_more]
        self.live.append(Live(start, tokens, n_total, start.n_cached, len(prompt)))

    @rule(which=st.integers(0, 100), n_more=st.integers(1, 10))
    def start_with_the_prompt_of_another(self, which: int, n_more: int) -> None:
        if self.live:
            own = self.live[which % len(self.live)]
            prompt = [*own.tokens[: own.n_prompt], *[which % 2] * n_more]
            n_total = min(CAPACITY, len(prompt) + n_more)
            if n_total > len(prompt):
                self.start(prompt, n_total - len(prompt))

    @rule(which=st.integers(0, 100), n=st.integers(1, 30))
    def grow(self, which: int, n: int) -> None:
        if self.live:
            own = self.live[which % len(self.live)]
            n = min(n, own.n_total - own.n_cached - own.fork_cells)
            self.context.grow(own.start.seq_id, n)
            own.n_cached += n

    @rule(which=st.integers(0, 100))
    def keep(self, which: int) -> None:
        if self.live:
            own = self.live[which % len(self.live)]
            if own.n_cached:
                n_before = self.cells.n_free_ids
                self.cells.keep(own.start.seq_id, own.tokens[: own.n_cached], SPARE_IDS)
                assert self.cells.n_free_ids >= min(n_before, SPARE_IDS)

    @rule(which=st.integers(0, 100))
    def read(self, which: int) -> None:
        if self.live:
            own = self.live[which % len(self.live)]
            self.cells.read(own.start.seq_id, own.tokens[: min(own.n_cached, own.n_prompt - 1)])

    @rule(which=st.integers(0, 100))
    def fork(self, which: int) -> None:
        if self.live:
            own = self.live[which % len(self.live)]
            room = own.n_total - own.n_cached - own.fork_cells
            if room and own.n_cached:
                child = self.cells.fork(own.start.seq_id, own.n_cached)
                if child is not None:
                    own.forks.append(child)
                    own.fork_cells += 1
                    self.context.grow(child, 1)

    @rule(which=st.integers(0, 100), is_turn=st.booleans())
    def finish(self, which: int, is_turn: bool) -> None:
        if self.live:
            own = self.live.pop(which % len(self.live))
            for child in own.forks:
                self.cells.release_id(child)
            # Where states are copied, a turn counts what it has from its source once more.
            is_turn = is_turn and self.context.drops_suffix
            self.cells.finish(own.start, own.tokens[: own.n_cached] if is_turn else None)

    @invariant()
    def every_id_is_in_one_place(self) -> None:
        if hasattr(self, "cells"):
            ids = [own.start.seq_id for own in self.live]
            ids += [child for own in self.live for child in own.forks]
            ids += [*self.cells._kept, *self.cells._free_ids]
            assert sorted(ids) == list(range(N_SEQ))

    @invariant()
    def what_is_promised_fits(self) -> None:
        if hasattr(self, "cells"):
            assert self.cells.reserved_cells + self.cells.kept_cells <= CAPACITY

    @invariant()
    def what_is_kept_is_in_the_cache(self) -> None:
        if hasattr(self, "cells"):
            for seq_id, kept in self.cells._kept.items():
                assert len(self.context.held[seq_id]) == kept.n_tokens

    @invariant()
    def who_stands_on_another_is_counted(self) -> None:
        if hasattr(self, "cells"):
            holders = {**self.cells._kept, **self.cells._live}
            sources = [holder.source for holder in holders.values()]
            assert all(sources.count(i) == holder.users for i, holder in holders.items())

    @invariant()
    def the_tree_has_what_is_kept_and_what_is_offered(self) -> None:
        if hasattr(self, "cells"):
            owners = set(self.cells._tree._tokens)
            assert set(self.cells._kept) <= owners <= {*self.cells._kept, *self.cells._live}
            for owner in owners:
                assert len(self.cells._tree.tokens_of(owner)) <= len(self.context.held[owner])

    def teardown(self) -> None:
        if not hasattr(self, "cells"):
            return
        while self.live:
            self.finish(0, False)
        self.patch.undo()
        assert self.cells.reserved_cells == 0
        assert self.cells.n_free_ids + len(self.cells._kept) == N_SEQ
        assert self.context.n_occupied <= self.cells.kept_cells


TestCellsInUse = CellsInUse.TestCase
TestCellsInUse.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


@pytest.fixture
def context() -> FakeContext:
    return FakeContext()


def run(cells: Cells, context: FakeContext, tokens: list[int], *, keep: bool = True) -> None:
    """One whole life of a sequence."""
    start = cells.start(tokens[:-1], len(tokens), SPARE_IDS)
    assert start is not None
    context.grow(start.seq_id, len(tokens) - start.n_cached)
    if keep:
        cells.keep(start.seq_id, tokens, SPARE_IDS)
    cells.finish(start)


def test_a_kept_prefix_is_what_the_next_sequence_starts_from(context: FakeContext) -> None:
    cells = Cells(context, idle_cells=32)
    run(cells, context, [1, 2, 3, 4])
    start = cells.start([1, 2, 3, 9], 10, SPARE_IDS)
    assert start is not None
    assert start.n_cached == 3
    assert cells.reserved_cells == 7


def test_without_sharing_nothing_is_kept(context: FakeContext) -> None:
    cells = Cells(context, idle_cells=32, sharing=False)
    run(cells, context, [1, 2, 3, 4])
    assert cells.kept_cells == context.n_occupied == 0
    assert cells.start([1, 2, 3, 4], 10, SPARE_IDS).n_cached == 0


def test_the_least_recently_used_goes_first_and_one_in_use_stays(context: FakeContext) -> None:
    cells = Cells(context, idle_cells=CAPACITY)
    for token in (1, 2, 3):
        run(cells, context, [token] * 15)
    start = cells.start([1] * 15, 17, SPARE_IDS)  # stands on the oldest
    assert start is not None
    assert start.n_cached == 15
    assert cells.start([7], 30, SPARE_IDS) is not None  # one of the others has to go
    assert [cells.covers([token] * 15) for token in (1, 2, 3)] == [True, False, True]


def test_what_is_kept_stays_within_the_idle_limit(context: FakeContext) -> None:
    cells = Cells(context, idle_cells=25)
    for token in range(6):
        run(cells, context, [token] * 10)
    assert cells.kept_cells == 20


def test_a_short_match_with_a_long_kept_sequence_does_not_block_for_ever(
    context: FakeContext,
) -> None:
    cells = Cells(context, idle_cells=CAPACITY)
    run(cells, context, [1] * 30)
    assert cells.kept_cells == 30
    # Two tokens in common; with all 30 pinned only 34 cells would be left.
    start = cells.start([1, 1, 5, 5], CAPACITY, SPARE_IDS)
    assert start is not None
    assert start.n_cached == 0


def test_a_fork_takes_the_id_of_a_kept_prefix_when_none_is_free(context: FakeContext) -> None:
    cells = Cells(context, idle_cells=CAPACITY)
    start = cells.start([9], 10, SPARE_IDS)
    assert start is not None
    context.grow(start.seq_id, 2)
    for n in range(1, N_SEQ):
        cells.keep(start.seq_id, [n, n], 0)
    assert cells.n_free_ids == 0
    assert cells.fork(start.seq_id, 2) is not None


def test_a_state_is_shared_only_as_a_whole() -> None:
    context = FakeContext(drops_suffix=False)
    cells = Cells(context, idle_cells=32)
    run(cells, context, [1, 2, 3, 4])
    assert cells.start([1, 2, 3, 9], 10, SPARE_IDS).n_cached == 0
    assert cells.start([1, 2, 3, 4, 9], 10, SPARE_IDS).n_cached == 4


def test_a_prefix_that_the_memory_has_let_go_is_not_used() -> None:
    context = FakeContext(drops_suffix=False)
    cells = Cells(context, idle_cells=32)
    run(cells, context, [1, 2, 3, 4])
    (kept_id,) = cells._kept
    context.held[kept_id] = []
    assert cells.start([1, 2, 3, 4, 9], 10, SPARE_IDS).n_cached == 0


# What live sequences have read


def live_on(cells: Cells, context: FakeContext, tokens: list[int], n_total: int) -> Start:
    """A sequence whose prompt has been read, all but its last token."""
    start = cells.start(tokens[:-1], n_total, SPARE_IDS)
    assert start is not None
    context.grow(start.seq_id, len(tokens) - 1 - start.n_cached)
    cells.read(start.seq_id, tokens[:-1])
    return start


DOCUMENT = list(range(100, 100 + WORTH_TOKENS))


@pytest.fixture
def large() -> FakeContext:
    return FakeContext(cells=16 * WORTH_TOKENS)


def test_a_sequence_begins_with_what_a_live_one_has_read(large: FakeContext) -> None:
    cells = Cells(large, idle_cells=0)
    live_on(cells, large, [*DOCUMENT, 1, 1], 40)
    second = cells.start([*DOCUMENT, 2], 41, SPARE_IDS)
    assert second is not None
    assert second.n_cached == WORTH_TOKENS
    assert cells.reserved_cells == 40 + 41 - WORTH_TOKENS


def test_what_others_began_with_stays_when_the_first_one_ends_and_no_more(
    large: FakeContext,
) -> None:
    cells = Cells(large, idle_cells=8 * WORTH_TOKENS)
    first = live_on(cells, large, [*DOCUMENT, 1, 1, 1], 50)
    second = live_on(cells, large, [*DOCUMENT, 2, 2, 2], 50)
    cells.finish(first)
    assert cells.kept_cells == WORTH_TOKENS
    cells.finish(second)
    assert cells.kept_cells == large.n_occupied == WORTH_TOKENS
    third = cells.start([*DOCUMENT, 3], 50, SPARE_IDS)
    assert third is not None
    assert third.n_cached == WORTH_TOKENS


def test_where_nothing_more_is_in_common_nothing_more_is_kept(large: FakeContext) -> None:
    cells = Cells(large, idle_cells=8 * WORTH_TOKENS)
    for number in range(5):
        one = live_on(cells, large, [1, 2, 3, *[10 + number] * WORTH_TOKENS, 4], 50)
        cells.finish(one)
    assert cells.kept_cells == large.n_occupied == 0
    assert cells.n_free_ids == N_SEQ


def test_one_at_a_time_the_second_shows_that_a_beginning_is_worth_keeping(
    large: FakeContext,
) -> None:
    cells = Cells(large, idle_cells=8 * WORTH_TOKENS)
    n_cached = []
    for question in range(4):
        one = live_on(cells, large, [*DOCUMENT, question, question], 50)
        n_cached.append(one.n_cached)
        cells.finish(one)
    assert n_cached == [0, 0, WORTH_TOKENS, WORTH_TOKENS]
    assert cells.kept_cells == WORTH_TOKENS


def test_a_live_one_is_not_held_for_a_few_tokens(large: FakeContext) -> None:
    cells = Cells(large, idle_cells=8 * WORTH_TOKENS)
    first = live_on(cells, large, [*DOCUMENT, 1, 1], 50)
    second = cells.start([*DOCUMENT[:-1], 2], 50, SPARE_IDS)
    assert second is not None
    assert second.n_cached == 0
    cells.finish(first)
    assert cells.kept_cells == 0


def test_a_state_is_not_shared_with_a_live_one() -> None:
    context = FakeContext(drops_suffix=False, cells=16 * WORTH_TOKENS)
    cells = Cells(context, idle_cells=8 * WORTH_TOKENS)
    live_on(cells, context, [*DOCUMENT, 1], 50)
    assert not cells.shares_live
    assert cells.start([*DOCUMENT, 1, 2], 50, SPARE_IDS).n_cached == 0


def test_a_growing_thread_takes_no_id_for_each_of_its_lengths(large: FakeContext) -> None:
    cells = Cells(large, idle_cells=16 * WORTH_TOKENS)
    head = [7, 7, 7]
    first = cells.start(head, 10, SPARE_IDS)
    assert first is not None
    large.grow(first.seq_id, 3)
    cells.keep(first.seq_id, head, SPARE_IDS)
    cells.finish(first)
    thread, before = list(head), None
    for message in range(8):
        thread += [message] * WORTH_TOKENS
        one = live_on(cells, large, [*thread, 99], len(thread) + 5)
        if message:
            assert one.n_cached == len(thread) - WORTH_TOKENS
        if before is not None:
            cells.finish(before)
        before = one
        assert cells.n_free_ids >= N_SEQ - 4
    cells.finish(before)
    assert cells.covers(head)


def chat(cells: Cells, context: FakeContext, prompt: list[int], answer: list[int]) -> list[int]:
    """Answer a chat, and keep it in case it goes on."""
    start = cells.start(prompt[:-1], len(prompt) + len(answer), SPARE_IDS)
    assert start is not None
    context.grow(start.seq_id, len(prompt) + len(answer) - start.n_cached)
    cells.read(start.seq_id, prompt[:-1])
    cells.finish(start, prompt + answer)
    return prompt + answer


def test_chats_that_do_not_go_on_are_kept_in_ever_fewer_cells_until_one_does() -> None:
    context = FakeContext(cells=8192, n_seq=64)
    cells = Cells(context, idle_cells=2048)
    chats = [chat(cells, context, [number] * 100, [0] * 28) for number in range(1, 40)]
    assert cells.kept_cells == 3 * 128  # LEAST_CELLS, and the one that ended last
    chat(cells, context, [*chats[-1], *[7] * 50], [0] * 28)  # this one goes on
    for number in range(100, 110):
        chat(cells, context, [number] * 100, [0] * 28)
    assert cells.kept_cells > 1024


def test_a_chat_that_goes_on_after_it_was_let_go_has_more_kept() -> None:
    context = FakeContext(cells=8192, n_seq=64)
    cells = Cells(context, idle_cells=2048)
    chats = [chat(cells, context, [number] * 100, [0] * 28) for number in range(1, 40)]
    assert cells.n_known(chats[-10]) == 0
    chat(cells, context, [*chats[-10], *[7] * 50], [0] * 28)
    for number in range(100, 110):
        chat(cells, context, [number] * 100, [0] * 28)
    assert cells.kept_cells > 1024


def test_a_common_beginning_alone_is_no_chat_that_goes_on() -> None:
    context = FakeContext(cells=8192, n_seq=64)
    cells = Cells(context, idle_cells=2048)
    for number in range(1, 60):
        chat(cells, context, [9] * 60 + [number] * 40, [0] * 28)
    assert cells.kept_cells <= 4 * 128
