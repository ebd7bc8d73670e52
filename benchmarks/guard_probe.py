"""Probes for the guard's policies, from embeddings that `guard_embed.py` kept.

    python benchmarks/guard_probe.py DATA EMBEDDINGS --model NAME [--harmless FILE ...]
        [--unseen FILE ...] [--fpr 0.004] [--ridge 0.3] [--out FILE]

For each policy a logistic regression with a ridge is fitted to the embeddings of the windows of
attacks that the policy is about, and of harmless texts. What rules flag stays flagged; from which
log odds on a probe is enough alone, and how much less is enough beside a weak rule, is chosen so
that most attacks are found while at most --fpr of the harmless texts are flagged, over all windows
of a text, by probes that were fitted without it.

How good that is, is measured on texts that had no part in any of it: five times another fifth is
left out, then each set as a whole, and the guard itself gives the verdicts. --unseen adds files of
harmless texts of further kinds, which no probe is fitted to. The probes, fitted on all others, go
to --out as [[known_models]] tables. A policy gets none if the probe finds no more than a quarter of
the attacks that the rules miss. Texts with a window that has no embedding are left out and counted.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from common import say, table
from guard_embed import harmless_of
from guard_kept import Case, KeptEmbeddings, cases_of
from guard_sets import ABOUT, flags, own_sets, sets_in, share
from logistic import fit_logistic

from vedette.backends.none import NoModel
from vedette.errors import VedetteError
from vedette.tasks.guard.evidence import hits_of, worth
from vedette.tasks.guard.policy import KnownModel, Policy, Weights
from vedette.tasks.guard.policy_file import DEFAULT, find_policy
from vedette.tasks.guard.probe import Probe, pack
from vedette.tasks.guard.survey import Question, Survey
from vedette.tasks.guard.task import Guard

FOLDS = 5
INNER_FOLDS = 4
WORTH_IT = 0.25
WIDTHS = (0.5, 1.0, 2.0, 3.0)  # of the log odds that count beside weak rules

Pieces = list[tuple[float, float]]  # what rules found in each piece, the model's log odds


@dataclass(frozen=True, slots=True)
class Fit:
    """Log odds of `alone` flag a text without any rule; from `width` below that on they count."""

    width: float
    alone: float

    def weights(self, policy: Policy) -> Weights:
        """As the policy has them, for log odds over `alone - width`: rules as without a model."""
        rules = policy.rules_only
        needed = math.log(rules.threshold / (1 - rules.threshold)) - rules.bias
        return replace(rules, model=round(needed / self.width, 4), least=0.0)


class Trainer:
    """Makes known models of a policy from texts."""

    def __init__(
        self, policy: Policy, kept: KeptEmbeddings, name: str, ridge: float, fpr: float
    ) -> None:
        self.policy, self._kept, self._name = policy, kept, name
        self._ridge, self._fpr = ridge, fpr
        self._hits = cache(lambda case: hits_of(policy, case.reading, ()))

    def is_about(self, case: Case) -> bool:
        """Whether a text is one to fit on: harmless, or an attack that the policy is about."""
        return not case.attack or case.set in ABOUT[self.policy.id]

    def known(self, cases: Sequence[Case]) -> KnownModel | None:
        """What these texts give, or None if the model finds too little that rules do not."""
        mine = [case for case in cases if self.is_about(case)]
        if not any(case.attack for case in mine):
            return None
        random.Random(0).shuffle(mine)
        rows: list[tuple[bool, Pieces]] = []
        for test, rest in folds(mine, INNER_FOLDS):
            probe = self.probe(rest)
            rows += [(case.attack, self.pieces(case, probe)) for case in test]
        fit = best(rows, self.policy, self._fpr)
        if fit is None:
            return None
        probe = self.probe(mine)
        probe = replace(probe, bias=round(probe.bias + fit.width - fit.alone, 4))
        sha256 = str(self._kept.identity["model_sha256"])
        return KnownModel(self._name, sha256, fit.weights(self.policy), probe)

    def probe(self, cases: Sequence[Case]) -> Probe:
        """A logistic regression on their windows: both kinds, and all texts of a kind, count alike.

        What is added to all values of an embedding means nothing (they are logits), so the weights
        come to 0 together.
        """
        vectors = np.concatenate([case.vectors for case in cases]).astype(np.float64)
        vectors -= vectors.mean(axis=1, keepdims=True)
        counts = [len(case.vectors) for case in cases]
        attack = np.repeat([case.attack for case in cases], counts)
        shares = np.repeat([1 / n for n in counts], counts)
        for kind in (True, False):
            shares[attack == kind] *= 0.5 * len(shares) / shares[attack == kind].sum()
        weights, bias = fit_logistic(vectors, attack, shares, self._ridge)
        weights -= weights.mean()
        scale = float(np.abs(weights).max())
        rounded = (weights / scale).astype(np.float16).astype(np.float64)
        bias += float((weights - scale * rounded) @ vectors.mean(axis=0))
        return Probe(self._kept.prompt, round(bias, 4), float(f"{scale:.5g}"), pack(rounded))

    def pieces(self, case: Case, probe: Probe) -> Pieces:
        """What the guard finds in each piece of a text."""
        question = Question(self.policy, self.policy.rules_only, probe, self._hits(case), ())
        survey = Survey([question], case.reading, self._kept)
        steps = survey.run()
        try:
            asks = next(steps)
            while True:
                asks = steps.send([self._kept.answer(ask) for ask in asks])
        except StopIteration:
            return [(worth(piece.hits), piece.log_odds) for piece in survey.pieces[0]]


def folds(cases: Sequence[Case], n: int) -> Iterator[tuple[list[Case], list[Case]]]:
    """Each n-th of the texts, and the others."""
    for fold in range(n):
        test = [case for i, case in enumerate(cases) if i % n == fold]
        yield test, [case for i, case in enumerate(cases) if i % n != fold]


def best(rows: Sequence[tuple[bool, Pieces]], policy: Policy, fpr: float) -> Fit | None:
    """The fit that finds most; of equals, the one whose model says less beside weak rules.

    None if it is no more than `WORTH_IT` of what the rules alone miss. The threshold stands in the
    middle of the gap above the highest harmless text that is not flagged, so that it does not hang
    on that text alone.
    """
    rules = policy.rules_only
    cut = (math.log(rules.threshold / (1 - rules.threshold)) - rules.bias) / rules.rules
    allowed = math.floor(fpr * sum(not attack for attack, _ in rows))
    found: list[tuple[int, float, Fit]] = []
    for width in WIDTHS:
        values = [(attack, needed(pieces, cut, width)) for attack, pieces in rows]
        most = sorted((value for attack, value in values if not attack), reverse=True)[allowed]
        if math.isinf(most):
            continue  # rules alone flag more than is allowed
        over = min((value for _, value in values if most < value < math.inf), default=most + 1)
        alone = (most + over) / 2
        n = sum(attack and value > alone for attack, value in values)
        found.append((n, -width, Fit(width, alone)))
    fit = max(found, key=lambda one: one[:2], default=None)
    by_rules = sum(attack and max(pieces)[0] > cut for attack, pieces in rows)
    missed = sum(attack for attack, _ in rows) - by_rules
    return fit[-1] if fit and fit[0] - by_rules > WORTH_IT * missed else None


def needed(pieces: Pieces, cut: float, width: float) -> float:
    """The highest `alone` with which the text is flagged; infinite where rules flag it."""
    return max(
        math.inf if found > cut else odds + width * found / cut if found else odds
        for found, odds in pieces
    )


Verdicts = Mapping[str, bool]  # by policy, and "first two" for those that are the default


class Measurement:
    """Verdicts of the guard on texts, with models that were made from other texts."""

    def __init__(self, trainers: Sequence[Trainer], kept: KeptEmbeddings) -> None:
        self._trainers, self._kept = trainers, kept

    def rules(self, test: Sequence[Case]) -> list[Verdicts]:
        """By rules alone."""
        policies = tuple(trainer.policy for trainer in self._trainers)
        return self._verdicts(Guard(policies, rules_only=True), test)

    def models(self, cases: Sequence[Case]) -> dict[str, KnownModel]:
        """What texts give, by policy."""
        found = {trainer.policy.id: trainer.known(cases) for trainer in self._trainers}
        return {name: known for name, known in found.items() if known}

    def verdicts(self, test: Sequence[Case], models: Mapping[str, KnownModel]) -> list[Verdicts]:
        """With these models, where the policies have them."""
        policies = [
            replace(one.policy, known_models=tuple(filter(None, [models.get(one.policy.id)])))
            for one in self._trainers
        ]
        return self._verdicts(Guard(tuple(policies)), test)

    def _verdicts(self, task: Guard, test: Sequence[Case]) -> list[Verdicts]:
        backend = NoModel() if task.rules_only else self._kept
        found = []
        for value in flags(task, [case.reading.text for case in test], backend):
            by_policy = {name: bool(one["flagged"]) for name, one in value["policies"].items()}
            either = any(by_policy[name] for name in DEFAULT)
            found.append({**by_policy, "first two": either})
        return found


def report(
    measurement: Measurement,
    cases: Sequence[Case],
    others: Sequence[Case],
    models: Mapping[str, KnownModel],
) -> str:
    """Shares flagged of each set: by rules, with a fifth of all left out, with the set left out.

    `models` are from all `cases`; `others` had no part in them.
    """
    fifths = dict(zip(others, measurement.verdicts(others, models), strict=True))
    mixed = random.Random(1).sample(cases, len(cases))
    for number, (test, rest) in enumerate(folds(mixed, FOLDS), 1):
        found = measurement.verdicts(test, measurement.models(rest))
        fifths |= dict(zip(test, found, strict=True))
        say(f"fifth {number} of {FOLDS}")
    lines = []
    for name in dict.fromkeys(case.set for case in (*cases, *others)):
        mine = [case for case in (*cases, *others) if case.set == name]
        apart = [fifths[case] for case in mine]
        if mine[0] not in others:
            rest = [case for case in cases if case.set != name]
            apart = measurement.verdicts(mine, measurement.models(rest))
        cells = [name, "attacks" if mine[0].attack else "harmless", str(len(mine))]
        cells.append(f"{np.mean([one['first two'] for one in measurement.rules(mine)]):.1%}")
        cells += [f"{np.mean([fifths[case][policy] for case in mine]):.1%}" for policy in ABOUT]
        cells += [
            share(sum(one["first two"] for one in way), len(mine))
            for way in ([fifths[case] for case in mine], apart)
        ]
        lines.append(cells)
        say("  ".join(cells))
    return table(["flagged", "", "texts", "rules", *ABOUT, "first two", "set left out"], lines)


def as_table(policy: str, known: KnownModel) -> str:
    """A known model as a policy file has it."""
    weights, probe = known.weights, known.probe
    assert probe is not None
    return "\n".join(
        [
            f"# {policy}",
            "[[known_models]]",
            f'name = "{known.name}"',
            f'sha256 = "{known.sha256}"',
            f"bias = {weights.bias}",
            f"rules = {weights.rules}",
            f"model = {weights.model}",
            "least = 0.0",
            f"threshold = {weights.threshold}",
            "",
            "[known_models.probe]",
            f'prompt = "{probe.prompt}"',
            f"bias = {probe.bias}",
            f"scale = {probe.scale}",
            f'weights = """\n{probe.packed}"""',
        ]
    )


def main() -> int:
    """Fit, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--harmless", type=Path, nargs="*", default=[])
    parser.add_argument("--unseen", type=Path, nargs="*", default=[])
    parser.add_argument("--fpr", type=float, default=0.004)
    parser.add_argument("--ridge", type=float, default=0.3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    try:
        run(options)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    return 0


def run(options: argparse.Namespace) -> None:
    """Do what the command line says. Raises `VedetteError`."""
    kept = KeptEmbeddings(options.embeddings, options.model)
    about = {name for names in ABOUT.values() for name in names}
    sets = [*own_sets(), *sets_in(options.data), *map(harmless_of, options.harmless)]
    found = cases_of(sets, kept)
    cases = [case for case in found if not case.attack or case.set in about]
    others = [case for case in found if case.attack and case.set not in about]
    others += cases_of([harmless_of(path) for path in options.unseen], kept)
    measurement = Measurement(
        [
            Trainer(find_policy(name), kept, options.model, options.ridge, options.fpr)
            for name in ABOUT
        ],
        kept,
    )
    models = measurement.models(cases)
    for name in ABOUT:
        say(f"{name}: {models[name].weights if name in models else 'rules do better without it'}")
    print(report(measurement, cases, others, models))
    tables = [as_table(name, known) for name, known in models.items()]
    if options.out:
        options.out.write_text("\n\n".join(tables) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
