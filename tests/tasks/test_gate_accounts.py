"""The accounts of a gate: counted from result lines, with what was saved and the alarms."""

from __future__ import annotations

import pytest
from gated import LARGE, SMALL, calibration

from vedette.errors import InputError
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classify import QUESTION
from vedette.tasks.gate.accounts import GateAccounts
from vedette.tasks.gate.price import Price, parse_price


def accounts(one=None, price=None) -> GateAccounts:
    known = Calibrations("classify", "key", {QUESTION: one or calibration()})
    return GateAccounts((SMALL, LARGE), known, 0.02, price)


def line(confidence=0.95, keep=True, large=None, prompt=100, large_prompt=120, large_out=4, **more):
    told = {"small": "good", "confidence": confidence, "keep": keep}
    usage = {"prompt_tokens": prompt, "completion_tokens": 0}
    if large is not None:
        told["large"] = large
        usage = {"prompt_tokens": prompt + large_prompt, "completion_tokens": large_out}
        more["large_usage"] = {"prompt_tokens": large_prompt, "completion_tokens": large_out}
    return {"ok": True, "value": {}, "usage": usage, "gate": {QUESTION: told}, **more}


def filled(lines, **options) -> GateAccounts:
    found = accounts(**options)
    for one in lines:
        found.add(one, repeated=False)
    return found


def test_rows_and_tokens_are_counted_for_each_tier():
    found = filled([line()] * 6 + [line(0.6, False, "bad")] * 3 + [line(large="good")])
    told = found.as_dict()
    assert (told["rows"], told["kept"], told["escalated"]) == (10, 7, 3)
    assert told["share_escalated"] == 0.3
    assert told["small"] == {
        "model": SMALL, "rows": 10, "prompt_tokens": 1000, "completion_tokens": 0
    }  # fmt: skip
    assert told["large"] == {
        "model": LARGE, "rows": 4, "prompt_tokens": 480, "completion_tokens": 16
    }  # fmt: skip


def test_what_is_saved_is_estimated_from_the_rows_that_both_were_asked():
    found = filled([line(prompt=200)] * 6 + [line(0.6, False, "bad")] * 4, price=Price(1.0, 10.0))
    told = found.as_dict()
    # 1.2 times the small model's prompts, and 4 tokens for each answer
    assert told["saved_estimate"] == {"rows": 6, "prompt_tokens": 1440, "completion_tokens": 24}
    assert told["money"] == {
        "price": [1.0, 10.0],
        "spent": pytest.approx((480 + 160) / 1e6, abs=1e-6),
        "saved_estimate": pytest.approx((1440 + 240) / 1e6, abs=1e-6),
    }
    assert ("money", "0.0006 spent, about 0.0017 saved") in found.facts()


def test_of_a_row_with_several_questions_only_those_that_were_not_asked_are_saved():
    known = Calibrations("decide", "key", {"a": calibration(), "b": calibration()})
    found = GateAccounts((SMALL, LARGE), known, 0.02, None)
    kept = {"small": "good", "confidence": 0.9, "keep": True}
    doubt = {"small": "good", "confidence": 0.6, "keep": False, "large": "bad"}
    usage = {"prompt_tokens": 200, "completion_tokens": 0}
    half = {"prompt_tokens": 200 + 150, "completion_tokens": 4}
    large = {"prompt_tokens": 150, "completion_tokens": 4}
    found.add(
        {"usage": half, "gate": {"a": kept, "b": doubt}, "large_usage": large}, repeated=False
    )
    found.add({"usage": usage, "gate": {"a": kept, "b": kept}}, repeated=False)
    # 150 tokens where the small one took 100, so 150 for the other half and 300 for a whole row
    saved = found.as_dict()["saved_estimate"]
    assert saved == {"rows": 1, "prompt_tokens": 450, "completion_tokens": 12}


def test_where_the_larger_model_was_asked_nothing_the_small_ones_prompts_are_the_estimate():
    saved = filled([line()] * 3).as_dict()["saved_estimate"]
    assert saved == {"rows": 3, "prompt_tokens": 300, "completion_tokens": 0}


def test_an_identical_row_is_a_row_but_costs_nothing_and_is_no_second_audit():
    found = filled([line(large="bad")])
    found.add(line(large="bad"), repeated=True)
    told = found.as_dict()
    assert (told["rows"], told["kept"]) == (2, 2)
    assert told["small"]["rows"] == told["large"]["rows"] == 1
    assert told["questions"][QUESTION]["audit"]["n"] == 1


def test_rows_without_text_or_without_an_answer_went_nowhere():
    empty = {"ok": True, "value": {"label": None}, "usage": {}, "empty": True}
    failed = {"ok": False, "error": {"code": "rate_limited", "message": "..."}}
    told = filled([empty, failed, line()]).as_dict()
    assert (told["rows"], told["kept"], told["escalated"]) == (3, 1, 0)
    assert told["small"]["rows"] == 1


def test_the_audit_alarms_where_more_differ_than_was_promised_and_not_before():
    few = filled([line(large="good")] * 18 + [line(large="bad")] * 2)
    assert few.notes() == []
    many = filled([line(large="good")] * 10 + [line(large="bad")] * 10)
    audit = many.as_dict()["questions"][QUESTION]["audit"]
    assert (audit["n"], audit["differing"], audit["promised"]) == (20, 10, 0.1)
    # Clopper and Pearson for 10 of 20, 95% on each side
    assert audit["differ_at_least"] == pytest.approx(0.302, abs=1e-3)
    assert audit["differ_at_most"] == pytest.approx(0.698, abs=1e-3)
    (note,) = many.notes()
    assert note.startswith("alarm, label: at least 30.2% of the kept answers are not what")
    assert "calibrate again" in note


def test_an_answer_in_doubt_is_no_audit():
    found = filled([line(0.6, False, "bad")] * 20)
    assert found.as_dict()["questions"][QUESTION]["audit"]["n"] == 0
    assert not any("audit" in name for name, _ in found.facts())


def test_rows_that_are_less_sure_than_the_labelled_ones_are_an_alarm():
    same = [line(c) for c in (0.55, 0.65, 0.75, 0.85, 0.85, 0.95, 0.95, 0.95, 0.95, 0.95)]
    assert filled(same * 30).notes() == []
    (note,) = filled([line(0.55, False, "bad")] * 200 + [line()] * 100).notes()
    assert "not as sure" in note
    assert "calibrate again" in note


def test_few_rows_are_no_alarm_whatever_they_are():
    assert filled([line(0.55, False, "bad")] * 10).notes() == []


def test_thresholds_that_keep_nothing_are_told():
    (note,) = filled([line(0.6, False, "bad")], one=calibration(None)).notes()
    assert "no answer is kept" in note


def test_audits_that_failed_and_servers_that_count_no_tokens_are_told():
    assert "1 kept answers could not be audited" in filled([line(audit_failed="x")]).notes()
    silent = [line(0.6, False, "bad", large_prompt=0, large_out=0)]
    assert any("does not tell" in note for note in filled(silent).notes())


@pytest.mark.parametrize(
    ("text", "price"),
    [("0.15,0.6", Price(0.15, 0.6)), ("2", Price(2, 2)), ("0,1", Price(0, 1))],
)
def test_a_price_is_one_number_or_two(text, price):
    assert parse_price(text) == price


@pytest.mark.parametrize("text", ["", "a", "1,2,3", "-1", "nan", "inf,1"])
def test_anything_else_is_no_price(text):
    with pytest.raises(InputError, match="must be one or two numbers"):
        parse_price(text)
