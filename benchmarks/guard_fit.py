"""Weights of a model for the guard's policies, from what `guard_sets.py --scores FILE` kept.

    python benchmarks/guard_fit.py FILE --name NAME [--fpr 0.005]

For each policy it looks for the weights that find most attacks of the sets that the policy is about
while at most --fpr of the harmless texts are flagged, and prints them as a [[known_models]] table.
How good they are is measured on texts that they were not chosen with: five times, each time with
another fifth left out. If a model does not find more than the rules alone on those, no table is
printed: rules do better without it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from common import say, table
from guard_sets import ABOUT, share
from kept import json_lines

from vedette.errors import VedetteError
from vedette.tasks.guard.policy_file import DEFAULT, find_policy

FOLDS = 5
RATIOS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0)  # of the model's weight to the rules'
LIMITS = (1.0, 1.5, 2.0, 3.0)
GREY = [0.2, 0.5]  # as in the policies' [with_model], with which the scores were made


@dataclass(frozen=True, slots=True)
class Row:
    """A text: is it an attack, what rules found in it, what the model said."""

    attack: bool
    worth: float
    log_odds: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Flagged is what has `worth + ratio * log_odds`, bounded by `limit`, over `above`."""

    ratio: float
    limit: float
    above: float

    def value(self, row: Row) -> float:
        """What is compared with `above`."""
        return value_of(row, self.ratio, self.limit)

    def flags(self, row: Row) -> bool:
        """Whether the text is flagged."""
        return self.value(row) > self.above


def value_of(row: Row, ratio: float, limit: float) -> float:
    """The evidence of rules and model on one scale."""
    return row.worth + ratio * max(-limit, min(limit, row.log_odds))


def fits(rows: Sequence[Row], fpr: float) -> Iterator[tuple[int, Fit]]:
    """Every ratio and limit with the lowest threshold that `fpr` allows; how much it finds.

    The threshold stands in the middle of the gap above the highest harmless text that is not
    flagged, so that it does not hang on that text alone.
    """
    attacks = [row for row in rows if row.attack]
    harmless = [row for row in rows if not row.attack]
    allowed = math.floor(fpr * len(harmless))
    for ratio, limit in product(RATIOS, LIMITS):
        low = sorted((value_of(row, ratio, limit) for row in harmless), reverse=True)[allowed]
        over = [v for row in rows if (v := value_of(row, ratio, limit)) > low + 1e-9]
        fit = Fit(ratio, limit, (low + min(over, default=low + 1.0)) / 2)
        yield sum(map(fit.flags, attacks)), fit


def best(rows: Sequence[Row], fpr: float) -> Fit:
    """The fit that finds most; of equals, the one that leans least on the model."""
    return max(fits(rows, fpr), key=lambda one: (one[0], -one[1].ratio, -one[1].limit))[1]


def held_out(rows: Sequence[Row], fpr: float) -> list[tuple[Row, bool]]:
    """Each text with the verdict of weights that were chosen without it."""
    found = []
    for fold in range(FOLDS):
        fit = best([row for i, row in enumerate(rows) if i % FOLDS != fold], fpr)
        found += [(row, fit.flags(row)) for i, row in enumerate(rows) if i % FOLDS == fold]
    return found


def rates(verdicts: Sequence[tuple[Row, bool]]) -> tuple[str, str]:
    """The share of attacks found, and of harmless texts flagged."""
    attacks = [flag for row, flag in verdicts if row.attack]
    harmless = [flag for row, flag in verdicts if not row.attack]
    return share(sum(attacks), len(attacks)), share(sum(harmless), len(harmless))


def as_table(policy: str, fit: Fit, name: str, sha256: str) -> str:
    """The fit as the policy file has it: on the scale of the rules' own weights."""
    scale = find_policy(policy).rules_only.rules
    lines = [
        f"# {policy}",
        "[[known_models]]",
        f'name = "{name}"',
        f'sha256 = "{sha256}"',
        f"bias = {-scale * fit.above:.3f}",
        f"rules = {scale}",
        f"model = {scale * fit.ratio:.3f}",
        f"limit = {fit.limit}",
        "threshold = 0.5",
        f"grey = {GREY}",
    ]
    return "\n".join(lines)


def main() -> int:
    """Fit, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--fpr", type=float, default=0.005)
    options = parser.parse_args()
    try:
        head, *lines = json_lines(options.scores)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    answers = [line["answer"] for line in lines]
    report, tables = [], []
    for policy in DEFAULT:
        weights = find_policy(policy).rules_only
        rows = [
            Row(one["attack"], one["worth"], one["log_odds"])
            for one in answers
            if one["policy"] == policy and (not one["attack"] or one["set"] in ABOUT[policy])
        ]
        if not {True, False} <= {row.attack for row in rows}:
            say(f"{policy}: attacks and harmless texts are needed")
            continue
        by_rules = [(row, weights.score(row.worth, 0.0) > weights.threshold) for row in rows]
        with_model = held_out(rows, options.fpr)
        report.append([policy, "rules", *rates(by_rules)])
        report.append([policy, "with the model, held out", *rates(with_model)])
        fit = best(rows, options.fpr)
        if fit.ratio > 0 and sum(f for r, f in with_model if r.attack) > sum(
            f for r, f in by_rules if r.attack
        ):
            tables.append(as_table(policy, fit, options.name, head["about"]["model_sha256"]))
    print(table(["policy", "by", "found", "harmless flagged"], report))
    print("\n" + "\n\n".join(tables) if tables else "\nrules do better without it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
