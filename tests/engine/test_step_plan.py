"""A step's plan keeps its budgets and its order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.engine.plan import plan
from vedette.engine.sequence import Sequence


class NoWork:
    cancelled = False

    def settle(self, sequence: Sequence, rows: object, first_index: int) -> None:
        raise AssertionError("a plan runs nothing")

    def fail(self, error: BaseException) -> None:
        raise AssertionError("a plan fails nothing")


def sequence(
    n_prompt: int, n_cached: int = 0, *, n_answer: int = 0, n_shared: int = 0, logits_from: int = -1
) -> Sequence:
    n = n_prompt + n_answer
    return Sequence(
        work=NoWork(),
        tokens=list(range(n)),
        n_prompt=n_prompt,
        n_total=n + 10,
        n_shared=n_shared,
        n_cached=n_cached,
        logits_from=n - 1 if logits_from < 0 else logits_from,
    )


@st.composite
def sequences(draw: st.DrawFn) -> Sequence:
    n_prompt, n_answer = draw(st.integers(1, 40)), draw(st.integers(0, 5))
    n = n_prompt + n_answer
    n_cached = draw(st.integers(0, n))
    return sequence(
        n_prompt,
        n_cached,
        n_answer=n_answer,
        n_shared=draw(st.integers(0, n_prompt)),
        logits_from=draw(st.integers(max(0, min(n_cached, n - 1)), n - 1)),
    )


@given(
    live=st.lists(sequences(), max_size=12),
    n_tokens=st.integers(1, 60),
    n_outputs=st.integers(1, 20),
)
def test_a_plan_keeps_within_its_budgets_and_what_is_pending(
    live: list[Sequence], n_tokens: int, n_outputs: int
) -> None:
    slices = plan(live, n_tokens, n_outputs)
    assert sum(part.n_tokens for part in slices) <= n_tokens
    assert sum(part.n_wanted for part in slices) <= n_outputs
    assert len({id(part.sequence) for part in slices}) == len(slices)
    for part in slices:
        own = part.sequence
        end = own.n_cached + part.n_tokens
        assert 1 <= part.n_tokens <= own.n_pending
        assert part.n_wanted == max(0, end - max(own.logits_from, own.n_cached))
        assert not own.n_cached < own.n_shared < end
    in_prompt = [part.sequence.in_prompt for part in slices]
    assert in_prompt == sorted(in_prompt)


@given(live=st.lists(sequences(), min_size=1, max_size=12), n_tokens=st.integers(1, 60))
def test_something_pending_means_something_planned(live: list[Sequence], n_tokens: int) -> None:
    assert bool(plan(live, n_tokens, 20)) == any(own.n_pending for own in live)


def test_answers_under_way_come_before_prompts() -> None:
    prompt, decoding = sequence(100), sequence(10, 10, n_answer=1)
    slices = plan([prompt, decoding], 32, 16)
    assert [(part.sequence, part.n_tokens, part.n_wanted) for part in slices] == [
        (decoding, 1, 1),
        (prompt, 31, 0),
    ]


def test_a_prompt_stops_at_the_end_of_its_shared_part() -> None:
    own = sequence(100, n_shared=60)
    (part,) = plan([own], 256, 16)
    assert (part.n_tokens, part.n_wanted) == (60, 0)
    own.n_cached = 60
    (part,) = plan([own], 256, 16)
    assert (part.n_tokens, part.n_wanted) == (40, 1)


def test_a_slice_shrinks_to_the_outputs_that_are_left() -> None:
    (part,) = plan([sequence(50, logits_from=10)], 256, 8)
    assert (part.n_tokens, part.n_wanted) == (18, 8)
