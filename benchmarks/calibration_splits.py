"""Do calibrated confidences and promises hold? Rows scored once, then calibrated many times.

    python benchmarks/calibration_splits.py FILE... [--labels NAME=LIST] [--scores OUT]

Each FILE has rows {"text", "label"}; its labels are those that the rows have, in alphabetical
order, or those of --labels (a list or a label file, as for classify). --rows of them, chosen at
random, are scored by the model; the scores are kept in --scores, and with all of them there no
model is loaded. Then, --splits times: calibrate on --fit rows chosen at random (a third of a set
that has fewer than twice as many), and test on all the others.

Told are medians over the splits: the share of right answers and the expected calibration error
(ten equal bins) before and after, what the latter stays under in 90% of the splits, and what
confidences that hold exactly would show on as many rows ("if exact"). For each promise: how many
splits found a threshold, how many of all splits had more than alpha wrong among the kept test rows,
how many of these by more than chance (binomial, 5%), and the share of the test rows that was kept.
The test rows are a sample too: a promise that holds exactly shows more than alpha now and then.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from common import say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.batch.answers import answers
from vedette.decide.calibration import Calibration, Promise, calibrate
from vedette.decide.closed import Decision, decide
from vedette.decide.reliability import expected_calibration_error
from vedette.decide.risk import Judged, binomial_cdf
from vedette.errors import InputError, VedetteError
from vedette.tasks.classify import Classify
from vedette.tasks.labels import Label, read_labels
from vedette.types import Answer, Item

PROMISES = (Promise(alpha=0.05), Promise(alpha=0.1))
CHANCE = 0.05  # a test that finds more wrong than alpha is significant under this


@dataclass(frozen=True, slots=True)
class Scored:
    """A set: raw scores (n_rows, n_choices) and the index of each row's right choice."""

    name: str
    choices: tuple[str, ...]
    rows: list[list[float]]
    right: list[int]

    def judged(self, decisions: Sequence[Decision], indices: Sequence[int]) -> list[Judged]:
        return [
            Judged(d.probability, d.best == self.choices[self.right[i]])
            for d, i in zip(decisions, indices, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a promise came to on the test rows of one split."""

    found: bool
    n_kept: int
    n_wrong: int
    coverage: float
    alpha: float

    @property
    def broken(self) -> bool:
        return self.n_wrong > self.alpha * self.n_kept

    @property
    def by_more_than_chance(self) -> bool:
        at_least = 1 - binomial_cdf(self.n_wrong - 1, self.n_kept, self.alpha)
        return self.broken and at_least < CHANCE


def task_of(rows: Sequence[dict[str, Any]], labels: str | None) -> Classify:
    if labels is not None:
        return Classify(labels=read_labels(labels))
    return Classify(labels=tuple(Label(name) for name in sorted({row["label"] for row in rows})))


def score(
    path: Path, labels: str | None, n_rows: int, kept: Kept, backends: Iterator[LocalBackend]
) -> Scored:
    """The scores of a set's rows: those that are kept, and the others from the model."""
    rows = json_lines(path, "text", "label")
    random.Random(0).shuffle(rows)
    rows = rows[:n_rows]
    task = task_of(rows, labels)
    unknown = {row["label"] for row in rows} - set(task.names)
    if unknown:
        raise InputError(f"{path} has the label {min(unknown)!r}, which is not in the list")
    about = json.dumps(task.raw_scores().identity, sort_keys=True)
    keys = [hashlib.sha256(f"{about} {row['text']}".encode()).hexdigest()[:16] for row in rows]
    todo = [i for i, key in enumerate(keys) if kept.get(key) is None]
    if todo:
        say(f"{path.name}: scoring {len(todo)} rows ...")
        items = [Item(id=str(i), text=rows[i]["text"]) for i in todo]
        for item, outcome in answers(items, task.raw_scores(), next(backends)):
            if not isinstance(outcome, Answer):
                raise outcome
            kept.add(keys[int(item.id)], {"logprobs": outcome.value})
    return Scored(
        name=path.stem,
        choices=task.names,
        rows=[cast(dict[str, Any], kept.get(key))["logprobs"] for key in keys],
        right=[task.names.index(row["label"]) for row in rows],
    )


def outcome_of(fitted: Calibration, decisions: Sequence[Decision], judged: list[Judged]) -> Outcome:
    kept = [row for d, row in zip(decisions, judged, strict=True) if fitted.keeps(d)]
    return Outcome(
        found=fitted.threshold is not None,
        n_kept=len(kept),
        n_wrong=sum(not row.is_right for row in kept),
        coverage=len(kept) / len(judged),
        alpha=fitted.promise.alpha,
    )


def one_split(data: Scored, n_fit: int, seed: int) -> dict[str, Any]:
    order = list(range(len(data.rows)))
    random.Random(seed).shuffle(order)
    fit, test = order[:n_fit], order[n_fit:]
    found: dict[str, Any] = {"promises": []}
    for promise in PROMISES:
        fitted = calibrate(
            data.choices, [data.rows[i] for i in fit], [data.right[i] for i in fit], promise
        )
        decisions = [fitted.decide(data.rows[i]) for i in test]
        judged = data.judged(decisions, test)
        found["promises"].append(outcome_of(fitted, decisions, judged))
    raw = data.judged([decide(data.choices, data.rows[i]) for i in test], test)
    # The same confidences, each right as often as it says.
    chance = random.Random(f"exact {seed}")
    exact = [Judged(row.confidence, chance.random() < row.confidence) for row in judged]
    for name, rows in (("raw", raw), ("calibrated", judged), ("exact", exact)):
        found[f"{name}_right"] = sum(row.is_right for row in rows) / len(rows)
        found[f"{name}_ece"] = expected_calibration_error(rows)
    return found


def splits(data: Scored, n_fit: int, n_splits: int) -> dict[str, Any]:
    n_fit = n_fit if len(data.rows) >= 2 * n_fit else len(data.rows) // 3
    found = [one_split(data, n_fit, seed) for seed in range(n_splits)]
    summary: dict[str, Any] = {"set": data.name, "fit": n_fit, "test": len(data.rows) - n_fit}
    for key in ("raw_right", "calibrated_right", "raw_ece", "calibrated_ece", "exact_ece"):
        summary[key] = statistics.median(one[key] for one in found)
    eces = sorted(one["calibrated_ece"] for one in found)
    summary["ece_mean"] = statistics.mean(eces)
    summary["ece_90"] = eces[int(0.9 * len(eces))]
    for i, promise in enumerate(PROMISES):
        ends: list[Outcome] = [one["promises"][i] for one in found]
        summary[f"alpha {promise.alpha:g}"] = {
            "found": sum(end.found for end in ends),
            "broken": sum(end.broken for end in ends),
            "by_more_than_chance": sum(end.by_more_than_chance for end in ends),
            "coverage": statistics.median(end.coverage for end in ends),
        }
    return summary


def shown(found: Sequence[dict[str, Any]], n_splits: int) -> str:
    head = ["set", "fit + test", "right", "then", "ECE", "then", "90%", "if exact"]
    for promise in PROMISES:
        head += [f"a={promise.alpha:g} found", "broken", "by more", "kept"]
    rows = []
    for one in found:
        row = [one["set"], f"{one['fit']} + {one['test']}"]
        row += [f"{one[key]:.1%}" for key in ("raw_right", "calibrated_right")]
        row += [f"{one[key]:.3f}" for key in ("raw_ece", "calibrated_ece", "ece_90", "exact_ece")]
        for promise in PROMISES:
            end = one[f"alpha {promise.alpha:g}"]
            row += [f"{end[key]}" for key in ("found", "broken", "by_more_than_chance")]
            row += [f"{end['coverage']:.1%}"]
        rows.append(row)
    return f"{n_splits} splits\n{table(head, rows)}"


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    opened: list[LocalBackend] = []

    def backends() -> Iterator[LocalBackend]:
        opened.append(LocalBackend(args.model))  # only where something is to be scored
        while True:
            yield opened[0]

    labels = dict(spec.split("=", 1) for spec in args.labels)
    unknown = set(labels) - {path.stem for path in args.files}
    if unknown:
        raise InputError(f"--labels names {min(unknown)!r}, which is no set")
    kept = Kept(args.scores, {"model": args.model})
    source = backends()
    try:
        sets = [score(path, labels.get(path.stem), args.rows, kept, source) for path in args.files]
    finally:
        for backend in opened:
            backend.close()
    return [splits(data, args.fit, args.splits) for data in sets]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--labels", action="append", default=[], metavar="SET=LIST")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--scores", type=Path, help="where scores are kept")
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--fit", type=int, default=200)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        found = run(args)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    print(json.dumps(found) if args.json else shown(found, args.splits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
