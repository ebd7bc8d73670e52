"""What a sentence about a text may not bring in."""

from __future__ import annotations

import pytest

from vedette.tasks.grounding import Grounding

TEXT = Grounding(
    "Ann: The North Gate opens at 7.15. We counted 12 boats, and two of them belong to Bob Lee. "
    "The harbour is busy."
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The North Gate opens at 7.15.",
        "Twelve boats were counted, two of them Bob's.",
        "Counting boats, Ann found 12.",
        "Additionally, the harbour is busy.",
        "The gates open early.",
    ],
)
def test_what_the_text_bears_out_may_stand(sentence):
    assert TEXT.fault(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "strange"),
    [
        ("The gate opens at 7.30.", "7.30"),
        ("Three boats were counted.", "three"),
        ("Ann met Carl at the gate.", "Carl"),
        ("Carl met Ann at the gate.", "Carl"),
        ("Two boats belong to Bob Leed.", "Leed"),
    ],
)
def test_a_number_or_a_name_that_is_not_there_is_named(sentence, strange):
    assert TEXT.fault(sentence) == f'"{strange}" is not in the text.'


def test_a_text_that_denies_nothing_bears_out_no_denial():
    assert "negates" in TEXT.fault("The harbour is not busy.")
    assert Grounding("The gate isn't open.").fault("The gate is not open.") is None


def test_chinese_numerals_count_as_numbers():
    text = Grounding("仓库面积为3200平方米，租期五年，搬迁需要12天。")
    assert text.fault("租期五年，搬迁需要十二天。") is None
    assert text.fault("租期三年。") == '"三" is not in the text.'
    assert text.fault("一些人搬迁。") is None
    assert "language" in text.fault("The lease runs for years.")
