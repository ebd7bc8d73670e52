"""Stop strings and broken characters in a stream of pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from vedette.engine.stops import StopScanner
from vedette.engine.tokens import Detokenizer

texts = st.text(alphabet="abc", max_size=30)
stop_lists = st.lists(st.text(alphabet="abc", min_size=1, max_size=4), max_size=3)
SPLIT_MATTERS = {"text": "abc", "stops": ["abc", "b"]}  # one of the stops lies in another


def cut_at_first_stop(text: str, stops: list[str]) -> str:
    """The text up to where the first stop string that is completed begins."""
    for end in range(len(text) + 1):
        starts = [end - len(stop) for stop in stops if text[:end].endswith(stop)]
        if starts:
            return text[: min(starts)]
    return text


def split(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@example(**SPLIT_MATTERS, cuts=[])
@example(**SPLIT_MATTERS, cuts=[1, 2])
@given(text=texts, stops=stop_lists, cuts=st.lists(st.integers(0, 1000), max_size=12))
def test_however_a_text_is_split_it_is_cut_at_its_first_stop(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    scanner = StopScanner(tuple(stops))
    shown = "".join(scanner.push(piece) for piece in split(text, cuts)) + scanner.finish()
    assert shown == cut_at_first_stop(text, stops)
    assert scanner.hit == (shown != text or any(stop in text for stop in stops))


def test_a_stop_split_over_three_pieces_is_found() -> None:
    scanner = StopScanner(("</end>",))
    assert [scanner.push(piece) for piece in ("one <", "/en", "d> two")] == ["one ", "", ""]
    assert scanner.hit
    assert scanner.push("more") == ""


def test_only_what_can_still_become_a_stop_is_held_back() -> None:
    scanner = StopScanner(("\n\n",))
    assert scanner.push("line\n") == "line"
    assert scanner.push("next") == "\nnext"
    assert scanner.push("end\n") == "end"
    assert scanner.finish() == "\n"
    assert not scanner.hit


def test_without_stops_everything_passes_at_once() -> None:
    scanner = StopScanner(())
    assert scanner.push("anything") == "anything"
    scanner = StopScanner(("",))
    assert scanner.push("anything") == "anything"
    assert not scanner.hit


@given(text=st.text(), sizes=st.lists(st.integers(1, 3), min_size=1))
def test_characters_split_over_pieces_come_out_whole(text: str, sizes: list[int]) -> None:
    raw, detokenizer, pieces, at = text.encode(), Detokenizer(), [], 0
    while at < len(raw):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(detokenizer.push(raw[at : at + size]))
        at += size
    assert "".join(pieces) + detokenizer.finish() == text
    assert "\ufffd" not in "".join(pieces) or "\ufffd" in text


@given(raw=st.lists(st.binary(max_size=3)))
def test_broken_bytes_are_shown_as_they_would_be_in_one_go(raw: list[bytes]) -> None:
    detokenizer = Detokenizer()
    shown = "".join(map(detokenizer.push, raw)) + detokenizer.finish()
    assert shown == b"".join(raw).decode("utf-8", "replace")
