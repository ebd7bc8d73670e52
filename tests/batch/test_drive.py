"""The driver and `answers`: order, width, retries, errors, early ends."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.batch import answers
from vedette.batch.answers import ITEMS_AHEAD
from vedette.batch.drive import Driver
from vedette.errors import CapabilityMissing, EngineFailed, InputError, InputTooLong
from vedette.types import Answer, Item

from .fakes import FakeBackend, ShoutTask, ask

QUICK = (0.001, 0.001)


def items(*texts: str) -> list[Item]:
    return [Item(id=str(number), text=text) for number, text in enumerate(texts, start=1)]


def drive(task, backend, given_items, retry_after_s=QUICK):
    with Driver(task, backend, retry_after_s=retry_after_s) as driver:
        for item in given_items:
            driver.start(item.id, item)
        outcomes = {}
        while driver.in_flight:
            outcomes.update(driver.wait())
        return outcomes, driver


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(["", "a", "b", "c d", "break", "refuse", "too-long"]), max_size=40))
def test_answers_come_in_order_whatever_completes_first(texts):
    backend = FakeBackend(delay_ms=0.5, width=5)
    numbered = [f"{text} {number}" if text else "" for number, text in enumerate(texts)]
    found = list(answers(items(*numbered), ShoutTask(steps=2), backend))
    assert [item.text for item, _ in found] == numbered
    for item, outcome in found:
        if isinstance(outcome, Answer):
            assert outcome.value == {"shouted": item.text.upper()}
        else:
            assert isinstance(outcome, InputError)
            assert any(word in item.text for word in ("break", "refuse", "too-long"))


def test_no_more_than_workers_items_are_under_way_and_all_places_are_used():
    backend = FakeBackend(delay_ms=2, width=3)
    assert len(list(answers(items(*map(str, range(30))), ShoutTask(), backend))) == 30
    assert backend.most_in_flight == 3
    assert len(list(answers(items(*map(str, range(30))), ShoutTask(), backend, workers=7))) == 30
    assert backend.most_in_flight == 7


def test_answers_are_lazy_and_bounded_behind_a_slow_first_item():
    taken = []

    def endless():
        for number in range(10**9):
            taken.append(number)
            yield Item(id=str(number), text=str(number))

    backend = FakeBackend(width=2)
    stream = answers(endless(), ShoutTask(), backend)
    assert taken == []
    for _ in range(5):
        next(stream)
    assert len(taken) <= 5 + 2 * ITEMS_AHEAD
    stream.close()


def test_closing_answers_cancels_what_is_under_way():
    backend = FakeBackend(delay_ms=60_000, width=4)
    closed = []

    class Watched(ShoutTask):
        def steps(self, item, backend):
            try:
                return (yield from super().steps(item, backend))
            finally:
                closed.append(item.id)

    stream = answers(items("a", "b", "c", "d", "e"), Watched(), backend)
    # The first `next` would wait for a minute, so the first is answered with the fourth's start.
    backend.on_submit = lambda: len(backend.handles) == 4 and backend.answer(0)
    item, outcome = next(stream)
    assert (item.text, outcome.value) == ("a", {"shouted": "A"})
    stream.close()
    assert [handle.was_cancelled for handle in backend.handles[1:4]] == [True] * 3
    assert sorted(closed) == ["1", "2", "3", "4"]


def test_a_retryable_failure_is_asked_again_and_only_that_request():
    backend = FakeBackend(delay_ms=0.1)
    outcomes, driver = drive(ShoutTask(), backend, items("flaky one", "two"))
    assert outcomes["1"].value == {"shouted": "FLAKY ONE"}
    assert driver.retried_requests == 1
    assert sorted(backend.submitted) == ["flaky one", "flaky one", "two"]


def test_a_request_that_keeps_failing_is_given_up_after_the_stated_tries():
    backend = FakeBackend(delay_ms=0.1)
    outcomes, driver = drive(ShoutTask(), backend, items("dead", "two"))
    assert isinstance(outcomes["1"], EngineFailed)
    assert isinstance(outcomes["2"], Answer)
    assert backend.submitted.count("dead") == 1 + len(QUICK)
    assert driver.retried_requests == len(QUICK)


def test_a_request_that_submit_refuses_is_the_items_error():
    outcomes, _ = drive(ShoutTask(), FakeBackend(), items("too-long", "two"))
    assert isinstance(outcomes["1"], InputTooLong)
    assert isinstance(outcomes["2"], Answer)


def test_several_requests_of_one_step_come_back_in_their_order():
    class Many(ShoutTask):
        def steps(self, item, backend):
            results = yield [ask(f"{item.text}{number}") for number in range(20)]
            return Answer(value=[result.text for result in results])

    outcomes, driver = drive(Many(), FakeBackend(delay_ms=1), items("a"))
    assert outcomes["1"].value == [f"A{number}" for number in range(20)]
    assert driver.usage.prompt_tokens == 20 * 11


def test_one_failed_request_of_a_step_cancels_its_siblings_and_is_thrown_into_the_task():
    thrown = []

    class Catching(ShoutTask):
        def steps(self, item, backend):
            try:
                yield [ask("slow"), ask("break")]
            except InputError as error:
                thrown.append(error.message)
            (result,) = yield [ask("second try")]
            return Answer(value=result.text)

    backend = FakeBackend(delay_ms=60_000)
    # "break" is answered at once, "slow" would take a minute, "second try" is answered at once.
    backend.on_submit = lambda: backend.submitted[-1] != "slow" and backend.answer(-1)
    outcomes, _ = drive(Catching(), backend, items("a"))
    assert backend.handles[0].was_cancelled
    assert thrown == ["it broke"]
    assert outcomes["1"].value == "SECOND TRY"


def test_a_step_without_requests_goes_on_at_once():
    class Idle(ShoutTask):
        def steps(self, item, backend):
            assert (yield []) == []
            assert (yield ()) == []
            return Answer(value="done")

    outcomes, _ = drive(Idle(), FakeBackend(), items("a"))
    assert outcomes["1"].value == "done"


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), CapabilityMissing("cannot score")])
def test_what_is_no_items_fault_ends_the_job(error):
    class Raising(ShoutTask):
        def steps(self, item, backend):
            yield [ask(item.text)]
            raise error

    with pytest.raises(type(error)):
        drive(Raising(), FakeBackend(delay_ms=0.1), items("a"))


def test_a_task_that_returns_no_answer_is_a_bug_that_is_named():
    class Forgetful(ShoutTask):
        def steps(self, item, backend):
            yield [ask(item.text)]

    with pytest.raises(TypeError, match="task shout returned NoneType"):
        drive(Forgetful(), FakeBackend(), items("a"))


def test_stop_keeps_what_is_answered_and_drops_what_is_not():
    backend = FakeBackend(delay_ms=60_000, width=3)
    with Driver(ShoutTask(), backend) as driver:
        for item in items("a", "b", "c"):
            driver.start(item.id, item)
        backend.answer(0)
        driver.stop()
        over = dict(driver.wait(timeout_s=5))
        assert driver.in_flight == 0
    assert list(over) == ["1"]


def test_stop_asks_no_further_steps():
    backend = FakeBackend(delay_ms=60_000)
    with Driver(ShoutTask(steps=2), backend) as driver:
        driver.start("1", Item(id="1", text="a"))
        backend.answer(0)
        driver.stop()
        assert driver.wait(timeout_s=5) == []
        assert driver.in_flight == 0
    assert len(backend.submitted) == 1


def test_stop_does_not_wait_for_a_retry():
    backend = FakeBackend()
    with Driver(ShoutTask(), backend, retry_after_s=(3600,)) as driver:
        driver.start("1", Item(id="1", text="dead"))
        assert driver.wait(timeout_s=0.01) == []
        driver.stop()
        assert driver.wait() == []
        assert driver.in_flight == 0


def test_wake_ends_a_wait_that_has_nothing_to_wait_for():
    with Driver(ShoutTask(), FakeBackend()) as driver:
        threading.Timer(0.01, driver.wake).start()
        assert driver.wait() == []
