"""Values put back into a text that comes in pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vedette.redaction.placeholders import restore
from vedette.redaction.stream import Restorer

MAPPING = {"[EMAIL_1]": "ann@example.com", "[EMAIL_1.2]": "Ann@Example.com", "[PHONE_12]": "+49 [1"}
PARTS = [
    *MAPPING,
    "[EMAIL_2]",
    "[EMAIL_1",
    "EMAIL_1]",
    "[[",
    "]",
    "[x",
    "[A",
    "[A_",
    "[1",
    "世",
    " ",
]
texts = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


@given(texts, st.lists(st.integers(0, 200), max_size=20))
def test_however_it_is_cut_it_is_the_whole_restored(text, cuts):
    restorer = Restorer.of(MAPPING)
    said = [restorer.feed(piece) for piece in pieces(text, cuts)]
    assert "".join([*said, restorer.end()]) == restore(text, MAPPING)


@given(texts)
def test_letter_by_letter_only_what_may_be_a_placeholder_is_held(text):
    restorer = Restorer.of(MAPPING)
    said = ""
    for place, letter in enumerate(text, start=1):
        said += restorer.feed(letter)
        held = restorer._held
        assert text[:place].endswith(held)
        assert held == "" or held.startswith("[")
        assert "]" not in held
        assert len(held) < 64
        if letter not in "[]_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            assert held == ""


def test_plain_text_is_never_held():
    restorer = Restorer.of(MAPPING)
    for piece in ("a [link](x) ", "list[0] ", "[ ] todo", "[x] done", "[1]"):
        assert restorer.feed(piece) == piece
