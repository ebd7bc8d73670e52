"""Lines with places become a text as a person reads it."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from vedette.pictures.layout import Line, page_of

HEIGHT = 20.0
PROSE = [
    "the river rises in the hills",
    "and runs for forty miles past",
    "the mill that nobody uses now",
    "before it comes to the old town",
    "where the bridge is being mended",
]


def line(text: str, x: float, y: float, confidence: float = 0.9) -> Line:
    right, bottom = x + 9.0 * len(text), y + HEIGHT
    return Line(text, confidence, ((x, y), (right, y), (right, bottom), (x, bottom)))


def turned(one: Line, degrees: float) -> Line:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = tuple((x * cos - y * sin, x * sin + y * cos) for x, y in one.corners)
    return Line(one.text, one.confidence, corners)


RECEIPT = [
    line("BOOKSHOP", 150, 0),
    line("Atlas", 0, 40),
    line("18.50", 300, 43),
    line("Pencil", 0, 70),
    line("1.20", 310, 68),
    line("TOTAL", 0, 100),
    line("19.70", 300, 100),
]
READ = "BOOKSHOP\nAtlas  18.50\nPencil  1.20\nTOTAL  19.70"


def test_a_label_and_its_amount_are_one_row_in_whatever_order_they_were_found():
    lines = [*RECEIPT]
    for seed in range(20):
        random.Random(seed).shuffle(lines)
        assert page_of(lines).text == READ


def test_a_page_that_lies_askew_reads_the_same():
    for degrees in (-8, -3, 3, 8):
        assert page_of([turned(one, degrees) for one in RECEIPT]).text == READ


def test_columns_of_prose_are_read_one_after_the_other():
    right = [text.upper() for text in PROSE]
    lines = [line(text, 0, 30 * i) for i, text in enumerate(PROSE)]
    lines += [line(text, 400, 30 * i + 2) for i, text in enumerate(right)]
    assert page_of(lines).text == "\n".join(PROSE) + "\n\n" + "\n".join(right)


def test_a_headline_over_both_columns_stays_above_them():
    head = line("A HEADLINE THAT GOES OVER THE WHOLE WIDTH OF IT ALL", 50, -40)
    lines = [line(text, 0, 30 * i) for i, text in enumerate(PROSE)]
    lines += [line(text.upper(), 400, 30 * i) for i, text in enumerate(PROSE)]
    text = page_of([*lines, head]).text
    assert text.split("\n\n") == [
        head.text,
        "\n".join(PROSE),
        "\n".join(text.upper() for text in PROSE),
    ]


def test_a_table_of_long_names_and_short_amounts_is_rows():
    lines = [line(text, 0, 30 * i) for i, text in enumerate(PROSE)]
    lines += [line(f"{i}.00", 400, 30 * i) for i in range(len(PROSE))]
    rows = page_of(lines).text.split("\n")
    assert rows == [f"{text}  {i}.00" for i, text in enumerate(PROSE)]


def test_lines_above_each_other_that_nearly_touch_stay_two():
    assert page_of([line("first", 0, 0), line("second", 0, 12)]).text == "first\nsecond"


def test_the_confidence_is_the_mean_over_the_characters():
    page = page_of([line("abcd", 0, 0, 1.0), line("ab", 0, 40, 0.7)], n_unsure=2)
    assert page.confidence is not None
    assert math.isclose(page.confidence, 0.9)
    assert page.n_unsure == 2


def test_an_empty_page_has_no_text_and_no_confidence():
    page = page_of([])
    assert (page.text, page.lines, page.confidence) == ("", (), None)


@given(
    st.lists(
        st.tuples(
            st.text("abc", min_size=1, max_size=40),
            st.floats(0, 2000),
            st.floats(0, 2000),
            st.floats(-30, 30),
        ),
        max_size=40,
    )
)
def test_no_line_is_lost_or_doubled_wherever_it_is(places):
    lines = [turned(line(text, x, y), angle) for text, x, y, angle in places]
    found = page_of(lines).lines
    assert sorted(map(id, found)) == sorted(map(id, lines))
