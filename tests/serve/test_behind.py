"""Batches stand behind live requests: these never wait for a queue of those."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import pytest
from batching import begin, chat_line, over, rows, serving
from lanes import Lanes
from served import wait_until

from vedette.serve.behind import Behind
from vedette.serve.options import ServeOptions

N_LINES = 12
FEW = ServeOptions(model="tiny", max_requests=4)


def never(text: str) -> bool:
    return False


def is_live(text: str) -> bool:
    return text.startswith("live")


def ask(client, text: str) -> str:
    body = chat_line("", text)["body"]
    return (
        client.with_options(timeout=10).chat.completions.create(**body).choices[0].message.content
    )


@contextmanager
def asking(client, *texts):
    """Live requests under way, each on a thread of its own; joined at the end."""
    threads = [threading.Thread(target=ask, args=(client, text)) for text in texts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(30)


@pytest.fixture
def lanes():
    return Lanes(4, never)


@pytest.fixture
def client(lanes, tmp_path):
    with serving(lanes, tmp_path / "files", FEW) as client:
        yield client


def begun(client, lanes):
    """A batch that has all lanes."""
    batch = begin(client, [chat_line(f"{i}", f"line {i}") for i in range(N_LINES)])
    wait_until(lambda: len(lanes.in_lanes) == 4)
    return batch


def complete(client, lanes, batch) -> None:
    """Let the batch end, and hold its results against its lines."""
    lanes.answers = lambda text: True
    lanes.go_on()
    ended = over(client, batch.id)
    assert (ended.status, ended.request_counts.completed) == ("completed", N_LINES)
    found = [
        (line["custom_id"], line["response"]["body"]["choices"][0]["message"]["content"])
        for line in rows(client, ended.output_file_id)
    ]
    assert found == [(f"{i}", f"LINE {i}") for i in range(N_LINES)]


def test_a_live_request_gets_a_place_at_once_and_no_line_is_lost(client, lanes):
    batch = begun(client, lanes)
    lanes.answers = is_live
    for i in range(3):  # no line of the batch has been answered, and none will be before these
        assert ask(client, f"live {i}") == f"LIVE {i}"
    assert client.batches.retrieve(batch.id).request_counts.completed == 0
    complete(client, lanes, batch)


def test_who_was_asked_last_gives_way_and_the_oldest_goes_on(client, lanes):
    batch = begun(client, lanes)
    with asking(client, "live 1", "live 2"):
        wait_until(lambda: {"live 1", "live 2"} <= set(lanes.in_lanes))
        assert lanes.in_lanes[:2] == ["line 0", "line 1"]
        lanes.answers = is_live
        lanes.go_on()
    complete(client, lanes, batch)
    assert lanes.asked["line 0"] == lanes.asked["line 1"] == 1
    assert lanes.asked["line 3"] == 2


def test_beside_live_requests_one_line_at_a_time_begins(client, lanes):
    with asking(client, "live 1", "live 2"):
        wait_until(lambda: len(lanes.in_lanes) == 2)
        batch = begin(client, [chat_line(f"{i}", f"line {i}") for i in range(N_LINES)])
        for i in range(3):
            wait_until(lambda i=i: f"line {i}" in lanes.in_lanes)
            assert len(lanes.in_lanes) == 3
            lanes.answers = lambda text, i=i: text == f"line {i}"
            lanes.go_on()
        lanes.answers = is_live
        lanes.go_on()
    wait_until(lambda: len(lanes.in_lanes) == 4)  # nobody is live any more
    complete(client, lanes, batch)


def test_live_requests_may_take_all_lanes_and_are_never_refused_for_a_batch(client, lanes):
    batch = begun(client, lanes)
    with asking(client, *(f"live {i}" for i in range(4))):  # as many as the server takes
        wait_until(lambda: all(map(is_live, lanes.in_lanes)) and len(lanes.in_lanes) == 4)
        lanes.answers = is_live
        lanes.go_on()
    complete(client, lanes, batch)


def test_a_line_that_fails_for_now_is_tried_again(client, lanes):
    lanes.answers = lambda text: True
    batch = over(client, begin(client, [chat_line("a", "flaky")]).id)
    assert (batch.request_counts.completed, lanes.asked["flaky"]) == (1, 2)


def test_a_line_may_ask_for_more_answers_than_there_are_lanes(client, lanes):
    lanes.answers = lambda text: True
    lines = [chat_line(f"{n}", f"{n} answers", n=n, temperature=1.0) for n in (3, 9)]
    batch = over(client, begin(client, lines).id)
    answers = [line["response"]["body"] for line in rows(client, batch.output_file_id)]
    assert [len(answer["choices"]) for answer in answers] == [3, 9]


def test_guests_have_what_live_requests_leave_free():
    async def play() -> None:
        behind = Behind(places=2, width=3)
        guests = [behind.enter() for _ in range(3)]
        assert not behind.has_room
        behind.live(1)
        assert [guest.leave.is_set() for guest in guests] == [False, True, True]
        behind.live(1)
        assert guests[0].leave.is_set()
        for guest in guests:
            behind.part(guest)
        assert not behind.has_room  # the live ones have all places
        behind.live(-1)
        assert behind.has_room
        many = behind.enter()
        assert not behind.has_room  # one beside a live one
        many.n = 9
        behind.live(-1)
        assert not behind.has_room
        behind.part(many)
        assert behind.has_room

    asyncio.run(play())


def test_who_watches_is_told_of_every_change():
    async def play() -> None:
        behind = Behind(places=2, width=2)
        changed = asyncio.Event()
        behind.watch(changed)
        for change in (
            lambda: behind.live(1),
            lambda: behind.live(-1),
            lambda: behind.part(behind.enter()),
        ):
            changed.clear()
            change()
            assert changed.is_set()
        behind.unwatch(changed)
        changed.clear()
        behind.live(1)
        assert not changed.is_set()

    asyncio.run(play())
