"""The report over labelled rows."""

from __future__ import annotations

import json
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from vedette.decide.calibration import Promise
from vedette.errors import CapabilityMissing
from vedette.evaluate.html import page
from vedette.evaluate.report import Report, Verdict, verdict_of
from vedette.evaluate.run import calibrate_classify
from vedette.tasks.classify import Classify
from vedette.tasks.labels import Label
from vedette.types import Capabilities, Item


def report(*verdicts: Verdict) -> Report:
    return Report(
        task="classify",
        model="m",
        data="rows.jsonl",
        verdicts=verdicts,
        labels=("good", "bad"),
        seconds=2.0,
    )


def verdict(
    right: str, answer: str | None, confidence: float | None = 0.9, **more: object
) -> Verdict:
    return Verdict(id="1", text="<b>&", right=right, answer=answer, confidence=confidence, **more)


ROWS = (
    verdict("good", "good"),
    verdict("good", "bad", 0.6),
    verdict("bad", "bad", 0.8),
    verdict("bad", None, None, error="too long"),
)


def test_the_figures_are_those_of_the_rows():
    body = report(*ROWS).as_dict()
    assert (body["n"], body["errors"], body["accuracy"]) == (4, 1, 0.5)
    assert body["items_per_s"] == 2.0
    good, bad = body["per_class"]
    assert (good.n, good.answered, good.precision, good.recall) == (2, 1, 1.0, 0.5)
    assert (bad.n, bad.answered, bad.precision, bad.recall) == (2, 2, 0.5, 0.5)
    assert body["macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-4)
    # Rows without an answer have no confidence to be judged by.
    assert body["ece"] == pytest.approx((0.1 + 0.2 + 0.6) / 3, abs=1e-4)


def test_wrong_rows_come_surest_first_and_errors_are_wrong():
    wrong = report(*ROWS, verdict("good", "bad", 0.99)).wrong
    assert [v.confidence for v in wrong] == [0.99, 0.6, None]


def test_what_was_kept_is_told_only_where_something_was_to_be_kept():
    assert report(*ROWS).kept is None
    kept = report(
        verdict("good", "good", kept=True),
        verdict("good", "bad", kept=True),
        verdict("good", "bad", kept=False),
    ).kept
    assert kept is not None
    assert (kept.n, kept.error) == (2, 0.5)
    assert kept.coverage == pytest.approx(2 / 3)
    none = report(verdict("good", "bad", kept=False)).kept
    assert none is not None
    assert (none.n, none.error) == (0, None)


def test_a_classification_s_answer_becomes_a_verdict():
    value = {"label": "good", "probability": 0.7, "keep": True}
    found = verdict_of("3", "text", "good", value)
    assert (found.is_right, found.confidence, found.kept) == (True, 0.7, True)
    assert verdict_of("3", "text", "good", None).error == "no answer"


def test_answers_that_were_not_scored_have_no_calibration():
    value = {"label": "good", "probability": None, "scored": False}
    body = report(verdict_of("1", "text", "good", value)).as_dict()
    assert (body["accuracy"], body["ece"], body["calibration"]) == (1.0, None, [])


def test_calibrating_needs_scores():
    unscored = SimpleNamespace(capabilities=Capabilities(can_score=False))
    task = Classify((Label("good"), Label("bad")))
    with pytest.raises(CapabilityMissing, match="can score"):
        calibrate_classify(task, [Item(id="1", text="x")], ["good"], unscored, Promise())


def test_the_page_is_whole_and_texts_stay_texts():
    html = page(report(*ROWS, verdict("good", "good", kept=True)))
    assert "&lt;b&gt;&amp;" in html
    assert "<b>&" not in html
    assert "http" not in html.replace("http://www.w3.org", "")
    body = html.replace("<!doctype html>", "").replace('<meta charset="utf-8">', "")
    body = body.replace('<meta name="viewport" content="width=device-width, initial-scale=1">', "")
    tree = ElementTree.fromstring(body)  # every element is closed
    assert len(list(tree.iter("rect"))) == 3
    assert len(list(tree.iter("table"))) == 2


def test_a_page_of_errors_only_has_no_plots():
    html = page(report(verdict("bad", None, None, error="too long")))
    assert "<svg" not in html
    assert "too long" in html


def test_the_report_is_json():
    import orjson

    assert json.loads(orjson.dumps(report(*ROWS).as_dict()))["n"] == 4
