"""Whether the guard finds the same attack wherever it stands in a long text, and in Chinese.

    python benchmarks/guard_positions.py DATA [--model NAME] [--payloads N]

The payloads are those of guard_payloads.jsonl, each in English and Chinese. Each is held against
its policy alone, and at the start, in the middle and at the end of 4,000 tokens of harmless prompts
of DATA (benign_wildguard.jsonl; four characters are taken for a token), of which none is flagged
by itself.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from common import print_report, say, table
from guard_sets import PAYLOADS, flags
from kept import json_lines

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.backends.none import NoModel
from vedette.tasks.guard.policy_file import find_policy
from vedette.tasks.guard.task import Guard

FILLER_CHARS = 16_000
PLACES = {"alone": None, "start": 0.0, "middle": 0.5, "end": 1.0}


def fillers(texts: Sequence[str], task: Guard, n: int) -> list[list[str]]:
    """`n` long texts as lists of paragraphs, the same ones each time, that rules do not flag."""
    draw = random.Random(0)
    found: list[list[str]] = []
    while len(found) < n:
        parts: list[str] = []
        while sum(map(len, parts)) < FILLER_CHARS:
            parts.append(draw.choice(texts))
        if not flags(task, ["\n\n".join(parts)], NoModel())[0]["flagged"]:
            found.append(parts)
    return found


def placed(payload: str, parts: Sequence[str], place: float | None) -> str:
    """The payload by itself, or at a place between the paragraphs."""
    if place is None:
        return payload
    at = round(place * len(parts))
    return "\n\n".join([*parts[:at], payload, *parts[at:]])


def measure(data: Path, n_payloads: int | None, backend: Backend) -> str:
    """The table of what was found."""
    texts = [row["text"] for row in json_lines(data / "benign_wildguard.jsonl", "text")]
    rows = json_lines(PAYLOADS, "policy", "en", "zh")[:n_payloads]
    rules = isinstance(backend, NoModel)
    lines = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        task = Guard((find_policy(policy),), rules_only=rules)
        around = fillers(texts, Guard(task.policies, rules_only=True), 4)
        clean = flags(task, ["\n\n".join(parts) for parts in around], backend)
        say(f"{policy}: {sum(one['flagged'] for one in clean)} of {len(clean)} fillers flagged")
        mine = [row for row in rows if row["policy"] == policy]
        for language in ("en", "zh"):
            cells = [policy, language, str(len(mine))]
            for place in PLACES.values():
                held = [
                    placed(row[language], around[i % len(around)], place)
                    for i, row in enumerate(mine)
                ]
                cells.append(str(sum(one["flagged"] for one in flags(task, held, backend))))
            lines.append(cells)
            say("  ".join(cells))
    return table(["found", "language", "payloads", *PLACES], lines)


def run(options: argparse.Namespace) -> str:
    """What the command line asks for. Raises `VedetteError`."""
    backend: Backend = LocalBackend(options.model) if options.model else NoModel()
    try:
        return measure(options.data, options.payloads, backend)
    finally:
        backend.close()


def main() -> int:
    """Measure, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--payloads", type=int)
    options = parser.parse_args()
    return print_report(lambda: run(options), kept_in=None)


if __name__ == "__main__":
    sys.exit(main())
