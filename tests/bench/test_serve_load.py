"""What the load benchmark makes of what it saw."""

from __future__ import annotations

from serve_load import Tally, overtaken


def test_in_order_nobody_is_overtaken():
    times = [float(i) for i in range(50)]
    assert overtaken(Tally(sent=times, answered=[t + 1 for t in times]), width=4) == 0


def test_as_many_as_are_answered_at_once_end_in_any_order():
    answered = [4.0, 3.0, 2.0, 1.0, 8.0, 7.0, 6.0, 5.0]
    assert overtaken(Tally(sent=[0.0] * 8, answered=answered), width=4) == 0


def test_the_last_who_is_served_first_is_found():
    answered = [float(i) for i in range(1, 20)]
    assert overtaken(Tally(sent=[0.0] * 20, answered=[*answered, 0.5]), width=4) == 1
