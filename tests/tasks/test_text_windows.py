"""Windows over a long text: nothing is lost, nothing too long, and it ends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.errors import InputTooLong
from vedette.tasks.windows import LEAST_WINDOW_TOKENS, opening, windows


def words(text: str) -> int:
    return len(text.split())


def n_bytes(text: str) -> int:
    return len(text.encode())


texts = st.one_of(
    st.text(alphabet=st.sampled_from("ab é错🙂.!。\n\t "), max_size=400),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    st.integers(0, 500).map(lambda n: "word " * n),
)


@pytest.mark.parametrize("count", [words, n_bytes])
@settings(deadline=None)
@given(texts, st.integers(LEAST_WINDOW_TOKENS, 60), st.integers(0, 80))
def test_windows_cover_every_character_within_the_limit(count, text, limit, overlap):
    found = windows(text, count, limit_tokens=limit, overlap_tokens=overlap)
    reached = 0
    for window in found:
        assert text[window.start : window.start + len(window.text)] == window.text
        assert window.text
        assert count(window.text) <= limit
        assert window.start <= reached
        assert window.start + len(window.text) > reached
        reached = window.start + len(window.text)
    assert reached == len(text)
    assert [window.start for window in found] == sorted({window.start for window in found})


@pytest.mark.parametrize("count", [words, n_bytes])
def test_windows_overlap(count):
    text = "one two three four five six seven. " * 40
    found = windows(text, count, limit_tokens=100, overlap_tokens=20)
    assert len(found) > 2
    for left, right in pairwise(found):
        shared = text[right.start : left.start + len(left.text)]
        assert 0 < count(shared) <= 21


def test_a_text_is_cut_at_the_best_place_near_the_end():
    text = "word " * 90 + "\n\n" + "word " * 90
    first, *_ = windows(text, words, limit_tokens=100, overlap_tokens=0)
    assert first.text == "word " * 90 + "\n\n"
    text = "一二三四五。" * 20
    first, *_ = windows(text, n_bytes, limit_tokens=100, overlap_tokens=0)
    assert first.text.endswith("。")


def test_a_limit_that_holds_nothing_is_refused():
    with pytest.raises(InputTooLong, match="only 15 tokens"):
        windows("a", words, limit_tokens=15, overlap_tokens=0)


@given(texts.filter(bool), st.integers(LEAST_WINDOW_TOKENS, 60))
def test_the_opening_is_as_much_as_fits_in_whole_words(text, limit):
    found = opening(text, words, limit_tokens=limit)
    assert found.start == 0
    assert found.text
    assert text.startswith(found.text)
    assert words(found.text) <= limit
    if words(text) <= limit and len(text) <= 6 * limit:
        assert found.text == text
    elif " " in found.text:
        assert found.text[-1].isspace() or text[len(found.text)].isspace()


def test_an_opening_without_spaces_is_cut_anywhere():
    found = opening("错" * 300, n_bytes, limit_tokens=30)
    assert found.text == "错" * 10
