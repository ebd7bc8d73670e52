"""Placeholders are the same for the same value, collide with nothing, and come back exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import InputError
from vedette.redaction.placeholders import Placeholders, restore, unknown_placeholders
from vedette.redaction.redactor import Redactor
from vedette.redaction.resolve import fill, resolve
from vedette.redaction.span import Span

REDACTOR = Redactor.of()
VALUES = ["a@b.de", "A@b.de", "10.20.30.40", "13800138000", "+86 138 0013 8000", "password=x1y2z3"]
LOOK_ALIKES = ["[EMAIL_1]", "[EMAIL_1.2]", "[TEXT_1]", "[[CARD_2]]", "[A_0]", "[EMAIL_", "EMAIL_1]"]
PIECES = st.one_of(st.text(max_size=8), st.sampled_from(VALUES), st.sampled_from(LOOK_ALIKES))


def redacted(text: str, placeholders: Placeholders | None = None):
    own = Placeholders() if placeholders is None else placeholders
    out, entities = own.replace(text, REDACTOR.find(text))
    return out, entities, own.mapping


@given(st.lists(PIECES, max_size=12).map("".join))
def test_every_text_comes_back_exactly(text):
    out, entities, mapping = redacted(text)
    assert restore(out, mapping) == text
    for entity in entities:
        assert text[entity.start : entity.end] == entity.value == mapping[entity.placeholder]


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_what_was_found_is_found_no_more_and_nothing_else_changed(text):
    out, entities, _ = redacted(text)
    rest, done = [], 0
    for entity in entities:
        rest += [text[done : entity.start], entity.placeholder]
        done = entity.end
    assert out == "".join([*rest, text[done:]])


def test_the_same_value_has_the_same_placeholder_and_every_spelling_comes_back():
    text = "a@b.de A@B.de a@b.de c@d.de 0170 1234567 +49 170 1234567"
    out, _, mapping = redacted(text)
    assert out == "[EMAIL_1] [EMAIL_1.2] [EMAIL_1] [EMAIL_2] [PHONE_1] [PHONE_1.2]"
    assert restore(f"Dear {out}!", mapping) == f"Dear {text}!"


def test_numbers_go_on_over_several_texts():
    own = Placeholders()
    assert redacted("a@b.de", own)[0] == "[EMAIL_1]"
    assert redacted("c@d.de a@b.de", own)[0] == "[EMAIL_2] [EMAIL_1]"
    again = Placeholders(own.entries())
    assert redacted("A@b.de e@f.de", again)[0] == "[EMAIL_1.2] [EMAIL_3]"


def test_a_placeholder_that_the_text_already_has_is_a_value_itself():
    out, _, mapping = redacted("[EMAIL_1] means a@b.de")
    assert out == "[TEXT_1] means [EMAIL_1]"
    assert restore(out, mapping) == "[EMAIL_1] means a@b.de"


def test_unknown_placeholders_stay_and_are_named():
    assert restore("[EMAIL_7] [EMAIL_1]", {"[EMAIL_1]": "x"}) == "[EMAIL_7] x"
    assert unknown_placeholders("[A_2] [EMAIL_1] [A_2]", {"[EMAIL_1]": "x"}) == ["[A_2]"]


@pytest.mark.parametrize("entry", [("EMAIL_1", "x", "x"), ("[EMAIL_0]", "x", "x")])
def test_entries_that_are_none_are_refused(entry):
    with pytest.raises(InputError, match="no placeholder"):
        Placeholders(iter([entry]))


def span(start, end, kind="a", score=0.5):
    return Span(start, end, kind, "r", score, kind)


def test_of_overlapping_spans_the_longest_names_it_and_nothing_is_left_uncovered():
    found = resolve([span(0, 5, "a"), span(3, 12, "b"), span(12, 14, "c"), span(20, 22, "d")])
    assert [(s.start, s.end, s.kind) for s in found] == [(0, 12, "b"), (12, 14, "c"), (20, 22, "d")]


def test_of_two_as_long_the_more_certain_counts():
    assert resolve([span(0, 5, "a", 0.5), span(0, 5, "b", 0.9)])[0].kind == "b"
    assert resolve([]) == []


def test_names_keep_to_what_rules_leave_and_lose_nothing_else():
    text = "Ann, a@b.de, Bob"
    sure = [span(5, 11, "email")]
    names = [span(0, 16, "address"), span(13, 16, "person"), span(5, 11, "person")]
    found = [(s.start, s.end, s.kind) for s in fill(text, sure, names)]
    assert found == [(0, 5, "address"), (5, 11, "email"), (11, 16, "address")]
    assert fill(text, sure, [span(4, 12, "person")]) == sure
    assert fill(text, [], [span(0, 3, "person")]) == [span(0, 3, "person")]
