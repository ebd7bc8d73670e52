"""Changelogs: every commit is found again, breaking changes come first, rewording keeps facts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import completion, run_by_hand, scores

from vedette.tasks.commit.entry import (
    INTERNAL,
    WriteEntry,
    candidates,
    facts,
    headings,
    known_entry,
)
from vedette.tasks.commit.release_notes import BREAKING, Entry, entry_of, release_notes
from vedette.types import Request, ScoreRequest


def never(ask):
    raise AssertionError("nothing needs to be asked")


@pytest.mark.parametrize(
    ("message", "heading", "by"),
    [
        ("feat(cart): add rates", "Added", "type"),
        ("fix: wrong sum", "Fixed", "type"),
        ("perf: faster sum", "Changed", "type"),
        ("docs: say more", INTERNAL, "type"),
        ("Add rates", "Added", "verb"),
        ("Fixes the sum", "Fixed", "verb"),
        ("Remove the old cart", "Removed", "verb"),
        ("修复求和错误", "Fixed", "verb"),
    ],
)
def test_a_message_that_says_its_heading_is_not_asked_about(message, heading, by):
    answer, asked = run_by_hand(WriteEntry(), message, never)
    assert (answer.value["heading"], answer.value["by"], asked) == (heading, by, [])
    assert known_entry(message) == answer.value


def test_rare_headings_are_asked_about_where_a_word_speaks_of_them():
    def asked(text):
        return tuple(label.name for label in candidates(text))

    usual = ("Added", "Changed", "Fixed")
    assert asked("The cart takes rates") == usual
    assert asked("The cart closes a vulnerability") == (*usual, "Security")
    assert asked("Carts of old are removed") == ("Added", "Changed", "Removed", "Fixed")
    assert asked("购物车已弃用") == ("Added", "Changed", "Deprecated", "Fixed")
    assert asked("The cart has its tests") == (*usual, INTERNAL)


def test_another_message_is_scored_over_the_headings():
    def respond(ask):
        assert isinstance(ask, ScoreRequest)
        is_item = "rates of the country" in ask.prompt.messages[-1].content
        return scores(*(-0.1 if is_item and name == "Changed" else -3.0 for name in ask.choices))

    message = "The cart takes the rates of the country\n\nMore words."
    answer, asked = run_by_hand(WriteEntry(), message, respond)
    assert asked[0][0].choices == ("Added", "Changed", "Fixed")
    assert (answer.value["heading"], answer.value["by"]) == ("Changed", "score")
    assert answer.value["text"] == "The cart takes the rates of the country"
    assert answer.value["probabilities"]["Changed"] > 0.5


@pytest.mark.parametrize(
    ("message", "breaking"),
    [
        ("feat!: drop rates", "drop rates"),
        ("feat: x\n\nBREAKING CHANGE: rates are gone", "rates are gone"),
        ("feat: x\n\nbody", None),
    ],
)
def test_breaking_changes_are_found(message, breaking):
    assert known_entry(message)["breaking"] == breaking


@pytest.mark.parametrize(
    ("reply", "text", "told"),
    [
        ("Add 3 rates to cart.py for all", "Add 3 rates to cart.py for all", ""),
        ("Add rates to cart.py for all", "add 3 rates to cart.py", "lost 3"),
        ("Add 3 rates to the cart", "add 3 rates to cart.py", "lost cart.py"),
        ("Add 3 rates and 4 carts to cart.py", "add 3 rates to cart.py", "added 4"),
        ("Add 3 rates to cart.py and x.py", "add 3 rates to cart.py", "kept as it was written"),
    ],
)
def test_a_rewording_keeps_names_and_numbers_or_is_not_taken(reply, text, told):
    def respond(ask):
        assert isinstance(ask, Request)
        return completion(reply)

    answer, _ = run_by_hand(WriteEntry(reword=True), "feat: add 3 rates to cart.py", respond)
    assert answer.value["text"] == text
    assert told in " ".join(answer.value["changes"])


def test_facts_are_names_numbers_and_hashes():
    assert facts("Fix 3 bugs in cart.py since 1a2b3c4, see #7") >= {"3", "cart.py", "1a2b3c4", "#7"}


def test_an_empty_message_is_an_empty_answer():
    answer, _ = run_by_hand(WriteEntry(), "  ", never)
    assert (answer.value, answer.extra) == (None, {"empty": True})


def notes(*messages, **options):
    entries = [entry_of(f"{i}{'a' * 39}", known_entry(text)) for i, text in enumerate(messages)]
    return release_notes(entries, "1.0", **options)


def test_breaking_changes_come_first_and_headings_in_their_order():
    found = notes("fix: a", "feat: b", "remove: c", "feat!: d", "fix: e\n\nBREAKING CHANGE: f")
    assert [heading for heading, _ in found.sections] == [BREAKING, "Added", "Removed", "Fixed"]
    assert found.markdown == (
        "## 1.0\n\n### Breaking changes\n\n- d (3aaaaaa)\n- e. f (4aaaaaa)\n\n"
        "### Added\n\n- b (1aaaaaa)\n\n### Removed\n\n- c (2aaaaaa)\n\n### Fixed\n\n- a (0aaaaaa)\n"
    )


def test_entries_that_say_the_same_are_one_with_all_commits():
    found = notes("fix(cart): the sum", "fix(cart): The sum. ", "fix(cart): the sum (#12)")
    ((_, (entry,)),) = found.sections
    assert len(entry.commits) == 3
    assert str(entry) == "- cart: the sum (0aaaaaa, 1aaaaaa, 2aaaaaa)"
    assert len(notes("fix(cart): the sum", "fix(mail): the sum").sections[0][1]) == 2


def test_what_users_do_not_notice_is_kept_apart_unless_it_is_asked_for_or_breaks():
    messages = ("docs: a", "feat: b", "build!: c")
    hidden = notes(*messages)
    assert [entry.text for entry in hidden.not_listed] == ["a"]
    assert "- c " in hidden.markdown
    shown = notes(*messages, internal=True)
    assert shown.not_listed == ()
    assert shown.sections[-1][0] == INTERNAL


ENTRIES = st.builds(
    Entry,
    heading=st.sampled_from(headings()),
    text=st.sampled_from(["a", "A.", "b", "c d"]),
    commits=st.tuples(st.text("0123456789abcdef", min_size=40, max_size=40)),
    scope=st.none() | st.just("x"),
    breaking=st.none() | st.just("gone"),
)


@given(st.lists(ENTRIES, unique_by=lambda entry: entry.commits), st.booleans())
def test_every_commit_stands_in_exactly_one_place(entries, internal):
    found = release_notes(entries, "1.0", internal=internal)
    listed = [name for _, section in found.sections for entry in section for name in entry.commits]
    hidden = [name for entry in found.not_listed for name in entry.commits]
    assert sorted(listed + hidden) == sorted(name for entry in entries for name in entry.commits)
    written = re.findall(r"[0-9a-f]{7}", found.markdown)
    assert sorted(written) == sorted(name[:7] for name in listed)
