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


def test_the_language_is_told_by_its_short_words():
    german = Grounding(
        "Die Fähre nach Lund soll um 7:15 statt um 7:45 fahren. Das ist vor dem ersten Bus, und "
        "wer mit dem Bus kommt, der hat das Nachsehen. Wir sind dafür, dass sie um 7:40 fährt."
    )
    assert german.fault("Die Fähre nach Lund soll vor dem ersten Bus um 7:15 fahren.") is None
    fault = german.fault("The ferry is to go at 7:15, and it is too early for the bus.")
    assert fault == "It is not in the language of the text."
    assert TEXT.fault("The harbour is busy and has a gate of its own for all.") is None


def test_other_spellings_of_what_stands_there_are_no_inventions():
    text = Grounding("The L_C_D_ costs twenty five euros, the U.S. one five.")
    for sentence in (
        "The LCD costs 25 euros.",
        "The US one costs 5.",
        "It costs twenty five euros.",
    ):
        assert text.fault(sentence) is None
    assert text.fault("The LCD costs 24 euros.") == '"24" is not in the text.'
