"""The search for names, driven by hand: windows, lists that are not whole, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted import WordBackend, always, completion, run_by_hand, user_text

from vedette.errors import CapabilityMissing, ConstraintFailed, InputTooLong, LabelError
from vedette.redaction.names import name_spans
from vedette.tasks.labels import Label
from vedette.tasks.names import MAX_NAMES, FindNames, names_of

TASK = FindNames((Label("person"), Label("codename", "internal names of projects")))


def test_each_list_holds_spans_of_the_text():
    answer, ((request,),) = run_by_hand(
        TASK, "Ann met Bob", always({"person": ["Ann", "Bob", "Ann"], "codename": []})
    )
    assert names_of(answer) == {"person": ["Ann", "Bob"], "codename": []}
    assert request.constraint.input == "Ann met Bob"
    system, *shown = request.prompt.messages
    assert "- codename: internal names of projects" in system.content
    assert '{"person": ["Karen Oduya", "Tom"], "codename": []}' in [m.content for m in shown]
    assert request.prompt.shared_messages == len(request.prompt.messages) - 1


def test_space_around_names_and_pronouns_are_left_out():
    text = "To: Ann I met you"
    answer, _ = run_by_hand(TASK, text, always({"person": [" Ann", "I", "you"], "codename": []}))
    assert names_of(answer)["person"] == ["Ann"]


def test_a_text_without_content_asks_nothing():
    answer, asked = run_by_hand(TASK, " \n", always(None))
    assert (names_of(answer), asked) == ({"person": [], "codename": []}, [])


def test_a_long_text_is_read_in_windows_and_no_word_is_in_none():
    text = " ".join(f"w{i}" for i in range(1000))

    def respond(ask):
        return completion({"person": user_text(ask).split()[:1], "codename": []})

    answer, (requests,) = run_by_hand(TASK, text, respond, WordBackend(context_tokens=8000))
    assert len(requests) == answer.extra["windows"] > 3
    assert all(len(user_text(ask).split()) <= TASK.window_tokens for ask in requests)
    assert {word for ask in requests for word in user_text(ask).split()} == set(text.split())
    assert len(names_of(answer)["person"]) == len(requests)


@pytest.mark.parametrize("how", ["full", "budget", "loop", "length"])
def test_a_list_that_may_not_be_whole_is_asked_again_in_halves(how):
    text = " ".join(f"w{i}" for i in range(100))

    def respond(ask):
        words = user_text(ask).split()
        if len(words) <= 60:
            return completion({"person": words[:2], "codename": []})
        names = words[: MAX_NAMES if how == "full" else 1]
        answer = completion({"person": names, "codename": []})
        if how == "full":
            return answer
        cut = None if how == "length" else how
        return replace(answer, cut=cut, finish_reason="length" if how == "length" else "stop")

    answer, asked = run_by_hand(TASK, text, respond)
    assert [len(requests) for requests in asked] == [1, 2]
    assert names_of(answer)["person"][:2] == ["w0", "w1"]


def test_a_window_that_cannot_be_listed_whole_is_an_error():
    text = " ".join(f"w{i}" for i in range(100))

    def respond(ask):
        return replace(completion({"person": [], "codename": []}), cut="loop")

    with pytest.raises(ConstraintFailed, match="could not be listed whole"):
        run_by_hand(TASK, text, respond)


@pytest.mark.parametrize(
    "wrong",
    [{"person": ["Eve"], "codename": []}, {"person": []}, [], {"person": [3], "codename": []}],
)
def test_an_answer_that_the_text_does_not_bear_out_is_never_passed_on(wrong):
    with pytest.raises(ConstraintFailed):
        run_by_hand(TASK, "Ann", always(wrong))


def test_what_cannot_be_done_is_said():
    with pytest.raises(CapabilityMissing):
        run_by_hand(TASK, "Ann", always(None), WordBackend(can_constrain=False))
    with pytest.raises(InputTooLong, match="no room for the text"):
        run_by_hand(TASK, "Ann", always(None), WordBackend(context_tokens=300))
    with pytest.raises(LabelError, match="small letters"):
        FindNames((Label("Person"),))
    with pytest.raises(LabelError, match="empty"):
        FindNames(())


def test_the_identity_changes_with_what_is_asked():
    others = [FindNames((Label("person"),)), FindNames(TASK.kinds, window_tokens=99)]
    seen = [str(task.identity) for task in [TASK, *others]]
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("Ann, Anna and Ann", "Ann", ["Ann", "Ann"]),
        ("李雷和李雷雷", "李雷", ["李雷", "李雷"]),
        ("A (Ltd.) A", "A", []),
        ("Smith\nCo, Smith Co", "Smith Co", ["Smith Co"]),
        ("a.b+c a.b+c", "a.b+c", ["a.b+c", "a.b+c"]),
    ],
)
def test_a_name_is_replaced_wherever_it_stands_as_a_word(text, name, found):
    spans = list(name_spans(text, {"person": [name, name]}, rule="model"))
    assert [text[span.start : span.end] for span in spans] == found
