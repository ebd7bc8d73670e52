"""The handle of a request, from threads and from asyncio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_helpers import WAIT_S, ask, small_options

from vedette.engine.core import EngineCore
from vedette.engine.ticket import Ticket
from vedette.errors import Cancelled, DeadlineExceeded, EngineFailed
from vedette.types import Completion, Usage

DONE = Completion(text="ab", finish_reason="stop", usage=Usage())


@pytest.fixture(scope="module")
def engine(tiny_full: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_full, small_options()) as engine:
        yield engine


@pytest.fixture
def ticket() -> Ticket[Completion]:
    return Ticket()


def test_a_result_is_waited_for_as_long_as_asked(ticket: Ticket[Completion]) -> None:
    with pytest.raises(TimeoutError, match="still running"):
        ticket.result(0.001)
    ticket.settle(DONE)
    assert ticket.result(0) is DONE
    assert ticket.result() is DONE


def test_an_error_is_raised_to_everyone_who_asks(ticket: Ticket[Completion]) -> None:
    ticket.push("a")
    ticket.settle(None, EngineFailed("as told"))
    for _ in range(2):
        with pytest.raises(EngineFailed, match="as told"):
            ticket.result(0)
    pieces = iter(ticket)
    assert next(pieces) == "a"
    with pytest.raises(EngineFailed):
        next(pieces)


def test_only_the_first_end_counts(ticket: Ticket[Completion]) -> None:
    ticket.settle(DONE)
    ticket.settle(None, EngineFailed("too late"))
    assert ticket.result(0) is DONE


def test_on_done_is_called_once_before_or_after_the_end(ticket: Ticket[Completion]) -> None:
    calls: list[str] = []
    ticket.on_done(lambda: calls.append("before"))
    assert calls == []
    ticket.settle(DONE)
    ticket.settle(DONE)
    ticket.on_done(lambda: calls.append("after"))
    assert calls == ["before", "after"]


def test_in_a_callback_the_result_is_there(engine: EngineCore) -> None:
    seen: list[int] = []
    called = threading.Event()
    ticket = engine.submit(ask("the", max_tokens=5))

    def look() -> None:
        seen.append(ticket.result(0).usage.completion_tokens)
        called.set()

    ticket.on_done(look)
    assert called.wait(WAIT_S)
    assert seen == [5]


def test_a_callback_may_submit_the_next_request(engine: EngineCore) -> None:
    following: list[Ticket[Completion]] = []
    submitted = threading.Event()

    def go_on() -> None:
        following.append(engine.submit(ask("of", max_tokens=4)))
        submitted.set()

    engine.submit(ask("the", max_tokens=50)).on_done(go_on)
    assert submitted.wait(WAIT_S)
    assert following[0].result(WAIT_S).usage.completion_tokens == 4


def test_a_reader_in_another_thread_gets_every_piece(ticket: Ticket[Completion]) -> None:
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.extend(ticket))
    reader.start()
    for piece in ("a", "", "b"):
        ticket.push(piece)
    ticket.settle(DONE)
    reader.join(WAIT_S)
    assert read == ["a", "b"]


def test_answers_can_be_awaited_together(engine: EngineCore) -> None:
    async def ask_all() -> list[Completion]:
        async def one(n: int) -> Completion:
            return await engine.submit(ask(f"{n} the", max_tokens=n))

        return await asyncio.gather(*(one(n) for n in range(1, 9)))

    completions = asyncio.run(ask_all())
    assert [completion.usage.completion_tokens for completion in completions] == [*range(1, 9)]


def test_awaiting_raises_the_typed_error(engine: EngineCore) -> None:
    async def too_late() -> Completion:
        return await engine.submit(ask("the", max_tokens=500, deadline_s=0.0))

    with pytest.raises(DeadlineExceeded):
        asyncio.run(too_late())


def test_cancelling_the_task_cancels_the_request(engine: EngineCore) -> None:
    tickets: list[Ticket[Completion]] = []

    async def give_up() -> None:
        async def wait() -> Completion:
            tickets.append(engine.submit(ask("the", max_tokens=1500)))
            return await tickets[0]

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    with pytest.raises(Cancelled):
        tickets[0].result(WAIT_S)


def test_a_timeout_of_asyncio_cancels_the_request(engine: EngineCore) -> None:
    tickets: list[Ticket[Completion]] = []

    async def hurry() -> None:
        tickets.append(engine.submit(ask("the", max_tokens=1500)))
        async with asyncio.timeout(0.01):
            await tickets[0]

    with pytest.raises(TimeoutError):
        asyncio.run(hurry())
    with pytest.raises(Cancelled):
        tickets[0].result(WAIT_S)


def test_an_answer_after_the_event_loop_is_gone_disturbs_nobody(
    ticket: Ticket[Completion], caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.new_event_loop()

    async def wait() -> Completion:
        return await ticket

    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    ticket.settle(DONE)
    assert ticket.result(0) is DONE
    assert caplog.text == ""
