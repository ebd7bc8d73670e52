"""Does the promise of `calibrate extract` hold? Rows answered once, then calibrated many times.

    python benchmarks/extract_splits.py examples/app.log examples/app.expected.jsonl \\
      --schema examples/event.schema.json --examples examples/event.examples.jsonl --scores OUT

Each line is answered by the model; how sure it was and whether the whole object was right is kept
in --scores, and with all of them there no model is loaded. Then, --splits times: a threshold is
found on --fit rows chosen at random and tried on all the others. Told are, for each promise, how
many splits found a threshold, in how many of all more than alpha of the kept test rows were
wrong, in how many of these by more than chance (binomial, 5%), and the medians of the shares that
were kept, and that were wrong among these. The test rows are a sample too: a promise that holds
exactly shows more than alpha now and then.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from pathlib import Path
from typing import Any

from common import say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.batch.answers import answers
from vedette.decide.risk import Judged, binomial_cdf, find_threshold
from vedette.engine.options import EngineOptions
from vedette.evaluate.calibrate_extract import is_same
from vedette.tasks.examples import extract_examples
from vedette.tasks.extract import NO_OBJECT, Extract
from vedette.types import Answer, Item

ALPHAS = (0.05, 0.1, 0.2, 0.3)
DELTA = 0.05
CHANCE = 0.05  # a test that finds more wrong than alpha is significant under this


def judged_rows(arguments: argparse.Namespace) -> list[Judged]:
    """How sure the model was of each row's object, and whether it was right."""
    texts = arguments.data.read_text("utf-8").splitlines()
    right = [row["value"] for row in json_lines(arguments.expected, "value")]
    shown = arguments.examples
    task = Extract(
        json.loads(arguments.schema.read_text("utf-8")),
        extract_examples(shown.read_text("utf-8"), str(shown)) if shown else (),
        tells_confidence=True,
    )
    kept = Kept(arguments.scores, {"model": arguments.model, "task": task.identity})
    rows = list(zip(texts, right, strict=True))[: arguments.rows]
    items = [Item(id=str(i), text=text) for i, (text, _) in enumerate(rows) if text.strip()]
    todo = [item for item in items if kept.get(item.id) is None]
    if todo:
        say(f"answering {len(todo)} rows ...")
        backend = LocalBackend(arguments.model, EngineOptions(threads=arguments.threads))
        try:
            for item, outcome in answers(todo, task, backend):
                kept.add(item.id, _kept(outcome, rows[int(item.id)][1]))
        finally:
            backend.close()
    return [Judged(**(kept.get(item.id) or {})) for item in items]


def _kept(outcome: object, right: Any) -> dict[str, Any]:
    if isinstance(outcome, Answer):
        told = outcome.extra["confidence"]
        return {"confidence": told, "is_right": is_same(outcome.value, right)}
    if isinstance(outcome, NO_OBJECT):
        return {"confidence": 0.0, "is_right": False}
    assert isinstance(outcome, Exception)
    raise outcome


def split(rows: list[Judged], n_fit: int, alpha: float, seed: int) -> tuple[int, int] | None:
    """How many test rows are kept, and how many of these are wrong; None without a threshold."""
    order = [*rows]
    random.Random(seed).shuffle(order)
    threshold = find_threshold(order[:n_fit], alpha, DELTA)
    if threshold is None:
        return None
    kept = [row for row in order[n_fit:] if row.confidence > threshold.above]
    return len(kept), sum(not row.is_right for row in kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="lines")
    parser.add_argument("expected", type=Path, help="the right object of each, in order")
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--fit", type=int, default=200)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--scores", type=Path)
    arguments = parser.parse_args()
    rows = judged_rows(arguments)
    n_test = len(rows) - arguments.fit
    told = []
    for alpha in ALPHAS:
        outcomes = [split(rows, arguments.fit, alpha, seed) for seed in range(arguments.splits)]
        found = [one for one in outcomes if one is not None]
        broken = [(n, n_wrong) for n, n_wrong in found if n_wrong > alpha * n]
        far = sum(1 - binomial_cdf(n_wrong - 1, n, alpha) < CHANCE for n, n_wrong in broken)
        coverage = statistics.median([n / n_test for n, _ in found] or [0.0])
        wrong = statistics.median([n_wrong / max(1, n) for n, n_wrong in found] or [0.0])
        counts = map(str, (len(found), len(broken), far))
        told.append((f"{alpha:.0%}", *counts, f"{coverage:.1%}", f"{wrong:.1%}"))
    print(f"{len(rows)} rows, {sum(row.is_right for row in rows)} right")
    print(table(("promise", "found", "broken", "by far", "kept", "wrong of these"), told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
