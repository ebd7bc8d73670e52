"""What would have been guessed is held against what is written, without being guessed."""

from __future__ import annotations

import pytest

from vedette.engine.speculation.acceptance import Acceptance
from vedette.engine.speculation.shadow import Shadow


def written_by_one(shadow: Shadow, text: list[int], guesses: dict[int, list[int]]) -> Acceptance:
    """The counts after a token a step, with these guesses at these places."""
    acceptance = Acceptance(0.5)
    for n in range(1, len(text) + 1):
        shadow.check(text[:n])
        if n in guesses:
            shadow.note(n, guesses[n], acceptance)
    return acceptance


def test_right_guesses_count_though_they_were_not_made():
    text = list(range(40))
    acceptance = written_by_one(Shadow(), text, {n: text[n : n + 3] for n in range(10, 30)})
    assert acceptance.rate(0) > 0.85
    assert acceptance.rate(2) > 0.85
    assert acceptance.rate(3) == 0.5  # nobody guessed so far


def test_what_comes_behind_a_wrong_guess_is_not_counted():
    text = list(range(40))
    guesses = {n: [text[n], -1, text[n + 2]] for n in range(10, 30)}
    acceptance = written_by_one(Shadow(), text, guesses)
    assert acceptance.rate(0) > 0.85
    assert acceptance.rate(1) < 0.15
    assert acceptance.rate(2) == 0.5


def test_a_copy_is_told_by_what_was_written_last():
    text, shadow = list(range(40)), Shadow()
    written_by_one(shadow, text[:30], {n: text[n : n + 2] for n in range(10, 30)})
    assert shadow.hit_rate > 0.9
    shadow.check([*text[:30], -1, -2, -3, -4, -5, -6])
    assert shadow.hit_rate < 0.3


def test_steps_of_several_tokens_count_each():
    text, shadow = list(range(40)), Shadow()
    shadow.check(text[:2])
    shadow.note(2, text[2:34], Acceptance(0.5))
    shadow.check(text[:34])
    assert shadow.hit_rate > 0.99


def test_an_answer_that_was_taken_back_forgets_its_end():
    text, shadow, acceptance = list(range(20)), Shadow(), Acceptance(0.5)
    shadow.check(text)
    shadow.note(20, [20, 21], acceptance)
    shadow.check(text[:10])
    shadow.check([*text[:10], 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7])
    assert acceptance.rate(0) == pytest.approx(0.5)
