"""The measurement of promises: what it finds for scores that are known to be honest, or to lie."""

from __future__ import annotations

import json
import math
import random

import pytest
from calibration_splits import Scored, score, splits
from kept import Kept

from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.errors import InputError

CHOICES = ("a", "b", "c")


def drawn(n: int, *, honest: bool) -> Scored:
    rng = random.Random(4)
    rows, right = [], []
    for _ in range(n):
        rows.append([rng.gauss(0, 2.5) for _ in CHOICES])
        weights = [math.exp(value) for value in rows[-1]] if honest else [1, 1, 1]
        right.append(rng.choices(range(3), weights)[0])
    return Scored("set", CHOICES, rows, right)


def test_honest_scores_stay_honest_and_keep_their_promise():
    found = splits(drawn(900, honest=True), n_fit=200, n_splits=6)
    assert (found["fit"], found["test"]) == (200, 700)
    assert found["calibrated_ece"] < 2 * found["exact_ece"]
    assert found["calibrated_right"] == pytest.approx(found["raw_right"], abs=0.03)
    assert found["alpha 0.1"]["found"] > 3
    assert found["alpha 0.1"]["by_more_than_chance"] == 0
    assert found["alpha 0.1"]["coverage"] > 0.1


def test_scores_that_say_nothing_are_found_out():
    found = splits(drawn(300, honest=False), n_fit=200, n_splits=4)
    assert found["fit"] == 100  # a third: 200 would leave too little to test on
    assert found["raw_ece"] > 0.3
    assert found["calibrated_ece"] < 0.15
    assert (found["alpha 0.1"]["found"], found["alpha 0.1"]["coverage"]) == (0, 0)


def test_kept_scores_need_no_model_and_strange_labels_are_refused(tmp_path, tiny_full):
    path = tmp_path / "set.jsonl"
    rows = [{"text": f"text {i}", "label": "ab"[i % 2]} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "scores.jsonl"
    backend = LocalBackend(tiny_full, EngineOptions(threads=1))
    try:
        first = score(path, None, 4, Kept(out, {}), iter([backend]))
    finally:
        backend.close()
    assert (len(first.rows), first.choices) == (4, ("a", "b"))
    assert score(path, None, 4, Kept(out, {}), iter([])) == first
    with pytest.raises(InputError, match="not in the list"):
        score(path, "a,c", 4, Kept(out, {}), iter([]))
