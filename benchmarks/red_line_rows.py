"""How well tasks beyond the red lines are told from simple ones, by rules and with a model.

    python benchmarks/red_line_rows.py [--rows FILE] [--model NAME] [--rules-only] [--out FILE]

The rows are tests/tasks/data/red_lines.jsonl: descriptions and questions with their kind, in three
parts. `tune` is what the rules were written on and the weights are fitted on here (logistic
regression on the rules' log odds and the model's); `report` and `check` have had no part in that,
and the phrases of `check` were chosen to be unlike those of the rules. All rows that work on a text
count as having a long one. The threshold is the lowest under which the simple rows of `tune`
promise that at most --fpr of simple tasks are refused; what that comes to is told from the simple
rows of the other parts (Clopper and Pearson, 95%). Scores go to --out as they come; a run that is
begun again takes them from there.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import print_report, say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.decide.closed import mean_prior, normalised
from vedette.decide.false_positives import find_flag_threshold
from vedette.decide.risk import error_bound
from vedette.tasks.red_lines.route import CONTENT_FREE, Route
from vedette.tasks.red_lines.rules import RED_KINDS, SIMPLE, load_rules, read

ROWS = Path(__file__).resolve().parent.parent / "tests" / "tasks" / "data" / "red_lines.jsonl"
NAMES = (SIMPLE, *RED_KINDS)
PARTS = ("tune", "report", "check")
KEYS = ("half", "language", "kind")
DELTA = 0.05
AHEAD = 32  # requests under way
RIDGE = 0.005  # for each row, so that weights stay finite where all rows are told apart


def score(rows: list[dict[str, Any]], args: argparse.Namespace) -> dict[str, list[float]]:
    """The model's log-probability of each kind for each text, the prior divided out."""
    route = Route()
    about = {"benchmark": "red_line_rows", "model": args.model, **route.identity["parameters"]}
    kept = Kept(args.out, about)
    asked = {row["text"]: row["input"] for row in rows} | dict.fromkeys(CONTENT_FREE, False)
    left = [text for text in asked if kept.get(text) is None]
    if left:
        backend = LocalBackend(args.model)
        try:
            for start in range(0, len(left), AHEAD):
                part = left[start : start + AHEAD]
                asks = [route.request(text, has_input=asked[text]) for text in part]
                handles = [backend.submit(ask) for ask in asks]
                for text, handle in zip(part, handles, strict=True):
                    kept.add(text, {"logprobs": [*handle.result().logprobs]})
                say(f"{start + len(part)} of {len(left)}")
        finally:
            backend.close()
    found = {text: (kept.get(text) or {})["logprobs"] for text in asked}
    prior = mean_prior([found.pop(text) for text in CONTENT_FREE])
    return {
        text: normalised([v - p for v, p in zip(normalised(row), prior, strict=True)])
        for text, row in found.items()
    }


def features(rows: list[dict[str, Any]], scores: dict[str, list[float]] | None) -> np.ndarray:
    """One, the rules' log odds, and the model's (n_rows, 2 or 3)."""
    columns = [[1.0] * len(rows)]
    evidence = (read(r["text"], has_input=r["input"], may_be_long=True) for r in rows)
    columns.append([one.log_odds for one in evidence])
    if scores is not None:
        logprobs = (scores[row["text"]] for row in rows)
        columns.append([math.log(math.fsum(map(math.exp, p[1:]))) - p[0] for p in logprobs])
    return np.array(columns).T


def fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method; the bias is not held back."""
    weights = np.zeros(x.shape[1])
    ridge = RIDGE * len(y) * np.diag([0.0, *[1.0] * (x.shape[1] - 1)])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - y) + ridge @ weights
        curve = (x * (p * (1 - p))[:, None]).T @ x + ridge
        weights = weights - np.linalg.solve(curve, slope)
    return weights


def report(rows: list[dict[str, Any]], is_up: np.ndarray) -> str:
    """Of each part and language: simple tasks refused, others recognised, by kind."""
    lines = []
    for part in PARTS:
        for language in ("en", "zh"):
            cells = []
            for kind in ("ok", *RED_KINDS):
                where = (part, language, kind)
                up = is_up[chosen(rows, lambda row, w=where: tuple(map(row.get, KEYS)) == w)]
                cells.append(f"{up.sum()} of {len(up)}")
            lines.append((part, language, *cells))
    ok = is_up[chosen(rows, lambda row: row["half"] != "tune" and row["kind"] == "ok")]
    return "\n".join(
        (
            table(("part", "", "ok refused", *RED_KINDS), lines),
            f"simple tasks refused outside tune: {ok.sum()} of {len(ok)}, so at most "
            f"{error_bound(int(ok.sum()), len(ok), DELTA):.1%} of them",
        )
    )


def chosen(rows: list[dict[str, Any]], is_wanted: Callable[[dict[str, Any]], bool]) -> np.ndarray:
    """Which rows are wanted, as a mask."""
    return np.array([is_wanted(row) for row in rows])


def measure(args: argparse.Namespace) -> str:
    """All of it."""
    rows = json_lines(args.rows, "text", "input", *KEYS)
    x = features(rows, None if args.rules_only else score(rows, args))
    red = np.array([row["kind"] != "ok" for row in rows], float)
    tune = chosen(rows, lambda row: row["half"] == "tune")
    fitted = fit(x[tune], red[tune])
    shipped = load_rules().rules_only if args.rules_only else load_rules().with_model
    used = np.array([shipped.bias, shipped.rules, shipped.model][: x.shape[1]])
    parts = []
    for title, weights, threshold in (
        ("fitted on tune", fitted, None),
        ("in use", used, shipped.threshold),
    ):
        chances = 1 / (1 + np.exp(-x @ weights))
        simple = [float(p) for p in chances[tune & (red == 0)]]
        least = find_flag_threshold(simple, args.fpr, DELTA).above
        above = least if threshold is None else threshold
        named = ", ".join(f"{weight:.2f}" for weight in weights)
        parts.append(f"{title}: {named} (bias, rules, model); least threshold {least:.3f}")
        parts.append(report(rows, chances > above))
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--rules-only", action="store_true")
    parser.add_argument("--fpr", type=float, default=0.05)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    return print_report(lambda: measure(args))


if __name__ == "__main__":
    sys.exit(main())
