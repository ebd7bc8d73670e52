"""What ends a request early, and that it ends nothing else."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_helpers import (
    WAIT_S,
    answer,
    answers,
    ask,
    assert_nothing_leaked,
    assert_same_but_for_ties,
    small_options,
    wait_until_idle,
)
from llguidance import LLParserLimits

from vedette.engine.cells import Cells
from vedette.engine.constraint.matcher import Matcher
from vedette.engine.core import EngineCore
from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model
from vedette.errors import (
    Cancelled,
    ConstraintFailed,
    DeadlineExceeded,
    EngineFailed,
    InputTooLong,
    ModelCorrupt,
    ModelNotFound,
    Overloaded,
)
from vedette.types import Constraint, Prompt, Request, Sampling, ScoreRequest

LONG = 1500  # more tokens than a test waits for


@pytest.fixture
def engine(tiny_any: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_any, small_options(width=4)) as engine:
        yield engine
        if engine._loop._failure is None and not engine._closed:
            assert_nothing_leaked(engine)


@pytest.fixture
def full_engine(tiny_full: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_full, small_options(width=4)) as engine:
        yield engine
        if engine._loop._failure is None and not engine._closed:
            assert_nothing_leaked(engine)


def words(n: int) -> str:
    """A text of n tokens."""
    return "".join(f"{i % 10}" for i in range(n))


# Cancellation and deadlines


def test_cancelling_half_leaves_the_others_as_they_were(engine: EngineCore) -> None:
    asked = [ask(f"{i} the server", max_tokens=40, logprobs=True) for i in range(24)]
    expected = answers(engine, asked)
    tickets = [engine.submit(request) for request in asked]
    for ticket in tickets[::2]:
        ticket.cancel()
    for ticket, alone in zip(tickets[1::2], expected[1::2], strict=True):
        assert_same_but_for_ties(ticket.result(WAIT_S), alone)
    for ticket in tickets[::2]:
        with pytest.raises(Cancelled):
            ticket.result(WAIT_S)


def test_a_cancelled_answer_ends_within_a_step(full_engine: EngineCore) -> None:
    ticket = full_engine.submit(ask("the server", max_tokens=LONG))
    pieces = iter(ticket)
    next(pieces)
    ticket.cancel()
    steps = full_engine.stats.steps
    with pytest.raises(Cancelled):
        ticket.result(WAIT_S)
    wait_until_idle(full_engine)
    assert full_engine.stats.steps <= steps + 3  # the one under way, and what came in between
    with pytest.raises(Cancelled):
        list(pieces)


def test_a_request_that_waits_is_cancelled_without_a_step(full_engine: EngineCore) -> None:
    running = [full_engine.submit(ask("the", max_tokens=200)) for _ in range(4)]
    waiting = full_engine.submit(ask("of", max_tokens=200))
    waiting.cancel()
    with pytest.raises(Cancelled):
        waiting.result(WAIT_S)
    for ticket in running:
        assert ticket.result(WAIT_S).usage.completion_tokens == 200


def test_cancelling_after_the_end_changes_nothing(full_engine: EngineCore) -> None:
    ticket = full_engine.submit(ask("the", max_tokens=2))
    first = ticket.result(WAIT_S)
    ticket.cancel()
    assert ticket.result(0) == first


def test_a_deadline_ends_a_request_and_only_that(engine: EngineCore) -> None:
    late = engine.submit(ask("the", max_tokens=LONG, deadline_s=0.0))
    late_score = engine.submit(
        ScoreRequest(prompt=Prompt(raw="the"), choices=("yes", "no"), deadline_s=0.0)
    )
    in_time = engine.submit(ask("the", max_tokens=20, deadline_s=WAIT_S))
    for ticket in (late, late_score):
        with pytest.raises(DeadlineExceeded):
            ticket.result(WAIT_S)
    assert in_time.result(WAIT_S).usage.completion_tokens == 20


# Room


def test_a_full_queue_is_said_at_once(tiny_full: Path) -> None:
    with EngineCore(tiny_full, small_options(width=1, max_queue=3)) as engine:
        tickets = [engine.submit(ask("the", max_tokens=LONG))]
        next(iter(tickets[0]))  # it is under way
        tickets += [engine.submit(ask("the", max_tokens=LONG)) for _ in range(3)]
        with pytest.raises(Overloaded, match="3 requests are waiting") as caught:
            engine.submit(ask("the"))
        assert caught.value.retryable
        for ticket in tickets:
            ticket.cancel()
        wait_until_idle(engine)
        assert answer(engine, ask("the", max_tokens=3)).usage.completion_tokens == 3


def test_what_can_never_fit_is_refused_at_once_with_both_sizes(tiny_any: Path) -> None:
    with EngineCore(tiny_any, small_options(max_context_tokens=512)) as engine:
        with pytest.raises(
            InputTooLong, match=r"prompt has 400 tokens and the answer may take 200.*at most 512"
        ):
            engine.submit(ask(words(400), max_tokens=200))
        assert answer(engine, ask(words(400), max_tokens=112)).usage.completion_tokens == 112


def test_large_requests_wait_for_room_and_all_finish(tiny_any: Path) -> None:
    options = small_options(cells=512, max_context_tokens=512, width=8)
    with EngineCore(tiny_any, options) as engine:
        asked = [ask(f"{i}" + words(150 + 10 * i), max_tokens=60) for i in range(20)]
        for completion in answers(engine, asked):
            assert completion.usage.completion_tokens == 60
        assert_nothing_leaked(engine)


def test_a_kept_sequence_never_keeps_a_large_request_out(tiny_any: Path) -> None:
    options = small_options(cells=512, max_context_tokens=512)
    with EngineCore(tiny_any, options) as engine:
        answer(engine, ask(words(240), max_tokens=5))
        wait_until_idle(engine)
        assert engine._loop._room.cells.kept_cells > 200
        # Ten tokens in common with what is kept, and nearly all of the cells wanted.
        completion = answer(engine, ask(words(10) + "x" * 400, max_tokens=90))
        assert completion.usage.completion_tokens == 90


def test_the_cache_starts_small_and_grows_when_a_request_needs_it(tiny_any: Path) -> None:
    with EngineCore(tiny_any, small_options(cells=256, max_context_tokens=2048)) as engine:
        expected = answer(engine, ask("the server", max_tokens=20, logprobs=True))
        assert engine._loop._room.context.cells == 256
        small = engine.submit(ask("the server", max_tokens=20, logprobs=True))
        large = engine.submit(ask(words(900), max_tokens=20))
        again = engine.submit(ask("the server", max_tokens=20, logprobs=True))
        assert large.result(WAIT_S).usage.prompt_tokens == 900
        assert 920 <= engine._loop._room.context.cells <= 2048
        assert_same_but_for_ties(small.result(WAIT_S), expected)
        assert_same_but_for_ties(again.result(WAIT_S), expected)
        assert_nothing_leaked(engine)


def test_a_cache_that_cannot_grow_fails_the_request_and_serves_the_next(
    tiny_full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Context.__init__

    def refuse_large(self: Context, model: Model, spec: ContextSpec) -> None:
        if spec.cells > 600:
            raise EngineFailed(f"llama.cpp cannot make a context of {spec.cells} cells")
        whole(self, model, spec)

    monkeypatch.setattr(Context, "__init__", refuse_large)
    with EngineCore(tiny_full, small_options(cells=512)) as engine:
        large = engine.submit(ask(words(900), max_tokens=20))
        with pytest.raises(EngineFailed, match="cannot make a context of 920 cells"):
            large.result(WAIT_S)
        assert answer(engine, ask("the", max_tokens=3)).usage.completion_tokens == 3
        # Twice the size is refused, but just enough is not.
        assert answer(engine, ask(words(550), max_tokens=20)).usage.prompt_tokens == 550


def test_long_prompts_are_computed_in_chunks(tiny_any: Path) -> None:
    request = ask(words(300), max_tokens=10, logprobs=True)
    with EngineCore(tiny_any, small_options()) as engine:
        expected = answer(engine, request)
    with EngineCore(tiny_any, small_options(batch_tokens=32)) as engine:
        others = [engine.submit(ask("the", max_tokens=30)) for _ in range(3)]
        assert_same_but_for_ties(answer(engine, request), expected)
        for ticket in others:
            ticket.result(WAIT_S)


# Faults


def test_a_constraint_that_gives_up_ends_its_request_only(
    engine: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraint = Constraint("regex", "[0-9]{30}")
    expected = answer(engine, ask("the", max_tokens=40, constraint=constraint)).text
    whole, victim, calls = Matcher.accept, [], itertools.count()

    def give_up(self: Matcher, token: int) -> None:
        victim.append(self)
        if self is victim[0] and next(calls) == 5:
            raise ConstraintFailed("the constraint engine gave up: as told")
        whole(self, token)

    monkeypatch.setattr(Matcher, "accept", give_up)
    first = engine.submit(ask("the", max_tokens=40, constraint=constraint))
    with pytest.raises(ConstraintFailed, match="as told"):
        first.result(WAIT_S)
    assert answer(engine, ask("the", max_tokens=40, constraint=constraint)).text == expected


def test_a_mask_that_cannot_be_computed_ends_its_request_only(full_engine: EngineCore) -> None:
    compiler = full_engine.compiler
    generous, compiler._limits = compiler._limits, LLParserLimits(max_lexer_states=12)
    heavy = Constraint("regex", "(a|b)*a(a|b){9}c")
    compiler.matcher(heavy)  # compiles, and gives up on the way
    compiler._limits = generous
    light = Constraint("regex", "[0-9]{60}")
    alone = answer(full_engine, ask("the", max_tokens=80, constraint=light)).text
    beside = full_engine.submit(ask("the", max_tokens=80, constraint=light))
    failing = full_engine.submit(ask("the", max_tokens=80, constraint=heavy))
    with pytest.raises(ConstraintFailed, match="gave up"):
        failing.result(WAIT_S)
    assert beside.result(WAIT_S).text == alone
    assert answer(full_engine, ask("the", max_tokens=80, constraint=light)).text == alone


def test_a_failed_decode_ends_its_requests_and_the_next_are_answered_right(
    engine: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask("the server", max_tokens=30, logprobs=True)
    expected = answer(engine, request)
    whole, fail = Context.decode, threading.Event()

    def fail_once(self: Context, batch: Batch) -> None:
        if fail.is_set():
            fail.clear()
            raise EngineFailed("llama_decode returned -3: as told")
        whole(self, batch)

    monkeypatch.setattr(Context, "decode", fail_once)
    fail.set()
    first = engine.submit(request)
    with pytest.raises(EngineFailed, match="as told"):
        first.result(WAIT_S)
    assert_same_but_for_ties(answer(engine, request), expected)
    score = ScoreRequest(prompt=Prompt(raw="the"), choices=("yes it is", "no not now", "yes"))
    scores = engine.submit(score).result(WAIT_S)
    fail.set()
    failing = engine.submit(score)
    with pytest.raises(EngineFailed, match="as told"):
        failing.result(WAIT_S)
    again = engine.submit(score).result(WAIT_S)
    assert again.logprobs == pytest.approx(scores.logprobs, abs=0.05)


def test_a_branch_that_fails_takes_its_siblings_in_the_same_step_with_it(
    engine: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vedette.engine.score import BranchWork

    def stumble(self: BranchWork, *_: object) -> None:
        raise ZeroDivisionError("as told")

    score = ScoreRequest(
        prompt=Prompt(raw="the"), choices=tuple(f"{i} is the one" for i in range(9))
    )
    with monkeypatch.context() as patch:
        patch.setattr(BranchWork, "settle", stumble)
        beside = engine.submit(ask("the", max_tokens=20))
        with pytest.raises(EngineFailed, match="ZeroDivisionError: as told") as caught:
            engine.submit(score).result(WAIT_S)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert beside.result(WAIT_S).usage.completion_tokens == 20
    assert len(engine.submit(score).result(WAIT_S).logprobs) == 9


def test_a_fault_of_the_loop_itself_is_everyone_s_answer_and_nobody_hangs(
    full_engine: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = [full_engine.submit(ask("the", max_tokens=LONG)) for _ in range(6)]
    next(iter(running[0]))

    def stumble(self: Cells, *_: object) -> None:
        raise RuntimeError("as told")

    monkeypatch.setattr(Cells, "start", stumble)
    running[0].cancel()  # makes room for the next one, which meets the fault
    for ticket in running[1:]:
        with pytest.raises(EngineFailed, match="RuntimeError: as told"):
            ticket.result(WAIT_S)
    with pytest.raises(EngineFailed, match="RuntimeError: as told"):
        full_engine.submit(ask("the"))


def test_a_callback_that_fails_is_logged_and_the_engine_goes_on(
    full_engine: EngineCore, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble() -> None:
        raise ValueError("not mine")

    called = threading.Event()
    ticket = full_engine.submit(ask("the", max_tokens=300))
    ticket.on_done(stumble)
    ticket.on_done(called.set)
    ticket.result(WAIT_S)
    assert called.wait(WAIT_S)
    assert "not mine" in caplog.text
    assert answer(full_engine, ask("the", max_tokens=3)).usage.completion_tokens == 3


# The end


def test_closing_fails_what_is_under_way_with_cancelled(tiny_any: Path) -> None:
    engine = EngineCore(tiny_any, small_options(width=2))
    score = ScoreRequest(prompt=Prompt(raw="the"), choices=tuple(f"{i} x" for i in range(99)))
    tickets = [engine.submit(ask("the", max_tokens=LONG)) for _ in range(5)]
    tickets.append(engine.submit(score))
    next(iter(tickets[0]))
    engine.close()
    for ticket in tickets:
        with pytest.raises(Cancelled, match="closed"):
            ticket.result(0)
    engine.close()


@pytest.mark.parametrize(
    "request_", [ask("the"), ScoreRequest(prompt=Prompt(raw="x"), choices=("a",))]
)
def test_a_closed_engine_refuses(tiny_full: Path, request_: Request | ScoreRequest) -> None:
    engine = EngineCore(tiny_full, small_options())
    engine.close()
    with pytest.raises(EngineFailed, match="closed"):
        engine.submit(request_)
    with pytest.raises(EngineFailed, match="closed"):
        engine.count_tokens("x")


def test_whoever_submits_while_the_engine_closes_gets_an_error_and_never_waits(
    tiny_full: Path,
) -> None:
    for pause_s in (0.0, 0.002, 0.01):
        engine = EngineCore(tiny_full, small_options())
        outcomes: list[str] = []

        def submit_until_closed(engine: EngineCore = engine, seen: list[str] = outcomes) -> None:
            constraint = Constraint("regex", "[0-9]{8}")
            for n in itertools.count():
                try:
                    request = ask(f"{n} the", max_tokens=20, constraint=constraint)
                    engine.submit(request).result(WAIT_S)
                except (Cancelled, EngineFailed) as error:
                    seen.append(error.code)
                    return

        threads = [threading.Thread(target=submit_until_closed) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(pause_s)
        engine.close()
        for thread in threads:
            thread.join(WAIT_S)
        assert len(outcomes) == 4
        assert set(outcomes) <= {"cancelled", "engine_failed"}


def test_many_threads_submit_and_cancel_at_random(full_engine: EngineCore) -> None:
    request = ask("the server", max_tokens=12, logprobs=True)
    expected = answer(full_engine, request)
    wrong: list[BaseException] = []

    def client(number: int) -> None:
        try:
            for n in range(12):
                ticket = full_engine.submit(request)
                if (n + number) % 3 == 0:
                    ticket.cancel()
                try:
                    assert_same_but_for_ties(ticket.result(WAIT_S), expected)
                except Cancelled:
                    assert (n + number) % 3 == 0
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert wrong == []


def test_sampler_chains_of_refused_requests_are_freed(
    tiny_full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vedette.engine.llama.sampler import SamplerChain

    made: list[SamplerChain] = []
    whole = SamplerChain.__init__

    def remember(self: SamplerChain, sampling: Sampling, n_vocab: int) -> None:
        made.append(self)
        whole(self, sampling, n_vocab)

    monkeypatch.setattr(SamplerChain, "__init__", remember)
    warm = Sampling(temperature=1.0)
    with EngineCore(tiny_full, small_options(max_context_tokens=512)) as engine:
        with pytest.raises(InputTooLong):
            engine.submit(ask("the", max_tokens=5000, sampling=warm))
        answer(engine, ask("the", max_tokens=3, sampling=warm))
        engine.submit(ask("the", max_tokens=400, sampling=warm)).cancel()
    assert len(made) == 3
    assert all(chain._chain is None for chain in made)


def test_a_file_that_is_no_model_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="no such model file"):
        EngineCore(tmp_path / "none.gguf")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelCorrupt, match="cannot load"):
        EngineCore(broken)


def test_compiled_constraints_are_bounded_in_number(full_engine: EngineCore) -> None:
    compiler = full_engine.compiler
    for i in range(300):
        compiler.matcher(Constraint("choice", json.dumps([f"{i}"])))
    assert len(compiler._compiled) == 256
    schema = {"type": "object", "properties": {"v": {"type": "string", "x-verbatim": True}}}
    compiler.matcher(Constraint("json_schema", json.dumps(schema), "an item"))
    assert all(not key.input for key in compiler._compiled)
