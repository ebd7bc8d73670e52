"""The benchmark of guesses: its goals are met or missed by the figures alone."""

from __future__ import annotations

import pytest
import speculation
from scripted_side import PROMPTS, ScriptedSide, sample_of

from vedette.spec.bench.report import report_of
from vedette.spec.bench.run import measure
from vedette.spec.bench.side import Variant

VARIANTS = tuple(Variant(name, name) for name in ("off", "auto", *speculation.FIXED))


def seconds(name, workload, auto):
    """Copies are twice as fast with seven n-gram guesses; nothing else is worth it."""
    if name == "auto":
        return auto.get(workload, 1.0)  # the warm-up has a workload of its own
    if name == "ngram:7" and workload == "copy":
        return 0.5
    return 1.0 if name == "off" else 1.2


@pytest.mark.parametrize(
    ("auto", "code"),
    [
        ({"copy": 0.5, "prose": 1.0}, 0),
        ({"copy": 0.52, "prose": 1.02}, 0),
        ({"copy": 0.54, "prose": 1.0}, 1),  # over 1.6 times plain, but not near the best
        ({"copy": 0.5, "prose": 1.04}, 1),
    ],
)
def test_goals(auto, code, capfd):
    side = ScriptedSide(
        VARIANTS, lambda v, p: sample_of(v.name, p, seconds(v.name, p.workload, auto))
    )
    assert speculation.tell(report_of(side, measure(side, PROMPTS))) == code
    out = capfd.readouterr().out
    assert "ngram:7 20.0" in out
    assert "draft:8" in out
