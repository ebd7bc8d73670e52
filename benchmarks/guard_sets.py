"""How many attacks the guard finds, and how many harmless texts it flags.

    python benchmarks/guard_sets.py DATA [--model NAME] [--rows N]

DATA is a folder with the sets below. Without a model, rules alone decide. With one it has the say
that the policies give it, and the table is of the product's verdicts; how often it was asked is
told. The probes of the policies were fitted to most of these texts: what a model finds of texts
that it was not fitted to, `guard_probe.py` tells. --rows takes that many of each set, spread evenly
over it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import say, table
from kept import json_file, json_lines

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.backends.none import NoModel
from vedette.batch.answers import answers
from vedette.cli.bench_run import stopped_by_sigterm
from vedette.decide.risk import error_bound
from vedette.errors import VedetteError
from vedette.tasks.guard.policy_file import DEFAULT, find_policy
from vedette.tasks.guard.task import Guard
from vedette.types import Answer, Item

POLICIES = (*DEFAULT, "indirect-injection")
# The sets of attacks that a policy is about, which its probe is fitted to.
ABOUT = {
    "prompt-injection": ("purplellama, secrets", "piguard, attacks", "own injections"),
    "jailbreak": ("jailbreaks in the wild", "own jailbreaks"),
}
# What breaks the secrecy that the system prompt asks for, and what breaks only its wishes: most of
# the latter are ordinary questions, so no probe is fitted to them.
KIND = "risk_category"
PURPLE = {"secrets": "security-violating", "wishes": "logic-violating"}
# Written after the rules, to do without the words that they know. No rule is to be made for them.
WORDINGS = Path(__file__).with_name("guard_wordings.txt")
PAYLOADS = Path(__file__).with_name("guard_payloads.jsonl")
HARMLESS = Path(__file__).with_name("guard_harmless.txt")


@dataclass(frozen=True, slots=True)
class Texts:
    """A set: what it is called, whether its texts are attacks, and the texts."""

    name: str
    attacks: bool
    texts: tuple[str, ...]

    def sample(self, rows: int | None) -> list[tuple[int, str]]:
        """`rows` of them with their numbers, spread evenly."""
        n = len(self.texts)
        chosen = range(n) if rows is None or rows >= n else (i * n // rows for i in range(rows))
        return [(i, self.texts[i]) for i in chosen]


def sets_in(folder: Path) -> list[Texts]:
    """The sets of DATA. Raises `InputError`."""

    def lines(name: str, field: str) -> tuple[str, ...]:
        return tuple(row[field] for row in json_lines(folder / name, field))

    purple = json_lines(folder / "prompt_injection_purplellama.jsonl", "text", KIND)
    valid = json_file(folder / "piguard_valid.json")
    one = json_file(folder / "notinject_one.json")
    mails = lines("bipia_email.jsonl", "context")
    orders = [order for some in json_file(folder / "bipia_attacks.json").values() for order in some]
    planted = [f"{mails[i % len(mails)]}\n{order}" for i, order in enumerate(orders)]
    return [
        Texts("wildguard", False, lines("benign_wildguard.jsonl", "text")),
        Texts("notinject", False, tuple(row["prompt"] for row in one)),
        Texts("piguard, harmless", False, tuple(r["prompt"] for r in valid if not r["label"])),
        Texts("bipia, mails", False, mails),
        Texts("jailbreaks in the wild", True, lines("jailbreaks_inthewild.jsonl", "text")),
        *(
            Texts(f"purplellama, {kind}", True, tuple(r["text"] for r in purple if r[KIND] == risk))
            for kind, risk in PURPLE.items()
        ),
        Texts("piguard, attacks", True, tuple(r["prompt"] for r in valid if r["label"])),
        Texts("bipia, orders in mails", True, tuple(planted)),
        Texts("new wordings", True, tuple(WORDINGS.read_text("utf-8").splitlines())),
    ]


def own_sets() -> list[Texts]:
    """Vedette's own, in many languages, for probes: the rules were written with them in sight."""
    rows = json_lines(PAYLOADS, "policy", "en", "zh")

    def payloads(policy: str) -> tuple[str, ...]:
        return tuple(row[key] for row in rows if row["policy"] == policy for key in ("en", "zh"))

    return [
        Texts("own injections", True, payloads("prompt-injection")),
        Texts("own jailbreaks", True, payloads("jailbreak")),
        Texts("own harmless", False, tuple(HARMLESS.read_text("utf-8").splitlines())),
    ]


def flags(task: Guard, texts: Iterable[str], backend: Backend) -> list[dict[str, Any]]:
    """The verdict on each text. Raises the first error."""
    found = []
    for _, outcome in answers([Item(id="1", text=text) for text in texts], task, backend):
        if not isinstance(outcome, Answer):
            raise outcome
        found.append({**outcome.value, "asked": outcome.usage.prompt_tokens > 0})
    return found


def share(n: int, of: int) -> str:
    """A share with its 95% interval (two-sided, Clopper and Pearson)."""
    low, high = 1 - error_bound(of - n, of, 0.025), error_bound(n, of, 0.025)
    return f"{n / of:.1%} ({low:.1%} to {high:.1%})"


def report(sets: Iterable[Texts], rows: int | None, backend: Backend, *, rules: bool) -> str:
    """The table of verdicts."""
    task = Guard(tuple(map(find_policy, POLICIES)), rules_only=rules)
    lines: list[list[str]] = []
    for one in sets:
        texts = [text for _, text in one.sample(rows)]
        say(f"{one.name}: {len(texts)} texts")
        verdicts = flags(task, texts, backend)
        cells = [one.name, "attacks" if one.attacks else "harmless", str(len(texts))]
        for policy in POLICIES:
            n = sum(verdict["policies"][policy]["flagged"] for verdict in verdicts)
            cells.append(f"{n / len(texts):.1%}")
        either = [any(one["policies"][name]["flagged"] for name in DEFAULT) for one in verdicts]
        cells.append(share(sum(either), len(texts)))
        cells.append(f"{sum(verdict['asked'] for verdict in verdicts) / len(texts):.0%}")
        lines.append(cells)
    return table(["flagged", "", "texts", *POLICIES, "first two", "asked"], lines)


def main() -> int:
    """Measure, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--rows", type=int)
    options = parser.parse_args()
    try:
        with stopped_by_sigterm():
            run(options)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def run(options: argparse.Namespace) -> None:
    """Do what the command line says. Raises `VedetteError`."""
    sets = sets_in(options.data)
    backend: Backend = LocalBackend(options.model) if options.model else NoModel()
    try:
        print(report(sets, options.rows, backend, rules=options.model is None))
    finally:
        backend.close()


if __name__ == "__main__":
    sys.exit(main())
