"""Escalation from Python, with two tiny random models."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import pytest

import vedette
from vedette.api import shared
from vedette.decide.calibration import Promise, calibrate
from vedette.decide.risk import Threshold
from vedette.errors import CalibrationMismatch, InputError
from vedette.tasks.calibrations import Calibrations

LABELS = ["positive", "negative"]
TEXTS = [f"row {i} is what it is" for i in range(12)]


@pytest.fixture
def tiers(tiny_full, tiny_sliding, monkeypatch, tmp_path):
    """The options that name both models."""
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "1024")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path))
    yield {"model": str(tiny_full), "escalate_to": f"local:{tiny_sliding}"}
    shared._close()


def thresholds(path, model: str, above: float) -> str:
    """A file that keeps what is over `above` with this model."""
    task = vedette.Classify(LABELS)
    rows = [[math.log(p), math.log(1 - p)] for p in (0.9, 0.1)] * 10
    fitted = calibrate(LABELS, rows, [0, 1] * 10, Promise())
    one = replace(fitted, threshold=Threshold(above, 0.05, 10, 0, 20))
    key = task.key(shared.backend_of(model, None))
    Calibrations("classify", key, {"label": one}).write(str(path))
    return str(path)


def test_a_kept_answer_and_one_in_doubt_say_whose_they_are(tiers, tmp_path):
    small, large = tiers["model"], tiers["escalate_to"].removeprefix("local:")
    for above, keep, tier in ((0.0, True, small), (1.0, False, large)):
        file = thresholds(tmp_path / "t.json", small, above)
        answer = vedette.classify("great film", LABELS, thresholds=file, **tiers)
        assert (answer["keep"], answer["tier"]) == (keep, tier)
        alone = vedette.classify("great film", LABELS, thresholds=file, model=small)
        assert ("tier" in alone, alone["keep"]) == (False, keep)
        if keep:
            assert alone["label"] == answer["label"]


def test_async_and_map_escalate_too(tiers, tmp_path):
    file = thresholds(tmp_path / "t.json", tiers["model"], 1.0)
    answer = asyncio.run(vedette.aclassify("great film", LABELS, thresholds=file, **tiers))
    assert answer["keep"] is False
    task = vedette.Classify(LABELS, thresholds=file)

    async def everything():
        return [outcome async for outcome in vedette.amap(TEXTS, task, **tiers)]

    found = list(vedette.map(TEXTS, task, **tiers))
    assert [one.value["label"] for one in asyncio.run(everything())] == [
        one.value["label"] for one in found
    ]
    assert all("large" in one.extra["gate"]["label"] for one in found)


def test_what_cannot_be_escalated_is_refused(tiers, tmp_path):
    with pytest.raises(InputError, match="there are none"):
        vedette.classify("x", LABELS, **tiers)
    with pytest.raises(InputError, match="extract cannot be escalated"):
        next(vedette.map(["x"], vedette.Extract("level:INFO|WARN"), **tiers))
    file = thresholds(tmp_path / "t.json", tiers["model"], 0.5)
    with pytest.raises(CalibrationMismatch):
        vedette.classify("x", LABELS[::-1], thresholds=file, **tiers)
    with pytest.raises(InputError, match="the larger one too"):
        vedette.classify(
            "x", LABELS, thresholds=file, model=tiers["model"],
            escalate_to=f"local:{tiers['model']}",
        )  # fmt: skip
