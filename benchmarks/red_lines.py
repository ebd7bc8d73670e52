"""How often a model is right on either side of the red lines.

    python benchmarks/red_lines.py [--model NAME] [--out answers.jsonl]

The questions are made here (red_line_questions.py), so that no model was trained on them: values to
be copied from a text, products, word problems, orders and moves to be put together, facts, lines
to be found and to be counted in lists of several lengths. Answers are held to their form (a
number, one of the names), so what is counted is their content alone; for facts the right name must
be in the answer. Answers go to --out as they come; a run that is begun again takes them from there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

from common import print_report, say, table
from kept import Kept
from red_line_questions import Asked, questions

from vedette.backends.local import LocalBackend
from vedette.decide.risk import error_bound
from vedette.types import Constraint, Message, Prompt, Request

SYSTEM = "Reply with the answer only."
IN_STEPS = "Work it out step by step. End with the number alone."
DELTA = 0.05
AHEAD = 16  # requests under way


def request_of(asked: Asked) -> Request:
    """The request for a question."""
    system = Message("system", IN_STEPS if asked.in_steps else SYSTEM)
    prompt = Prompt(
        (system, Message("user", asked.text + asked.question)),
        shared_messages=1,
        shared_chars=len(asked.text),
    )
    return Request(
        prompt=prompt,
        constraint=Constraint("regex", asked.answer) if asked.answer else None,
        max_tokens=220 if asked.in_steps else 24,
    )


def is_right(asked: Asked, text: str) -> bool:
    """Whether an answer is one of the right ones."""
    if asked.in_steps:
        return (re.findall(r"\d+", text.replace(",", "")) or [""])[-1] in asked.right
    if asked.answer:
        return text in asked.right
    return any(re.search(rf"(?<![A-Za-z0-9]){re.escape(r)}(?![a-z0-9])", text) for r in asked.right)


def answer(asked: list[Asked], backend: LocalBackend, kept: Kept) -> None:
    """Ask what has no answer yet, a few at once and in order."""
    left = [(key, one) for one in asked if kept.get(key := key_of(one)) is None]
    for start in range(0, len(left), AHEAD):
        part = left[start : start + AHEAD]
        handles = [backend.submit(request_of(one)) for _, one in part]
        for (key, one), handle in zip(part, handles, strict=True):
            text = handle.result().text
            kept.add(key, {"text": text, "right": is_right(one, text)})
        say(f"{start + len(part)} of {len(left)}")


def key_of(asked: Asked) -> str:
    """What tells a question from all others."""
    return json.dumps([asked.kind, asked.text, asked.question], ensure_ascii=False)


def report(asked: list[Asked], kept: Kept) -> str:
    """Of each kind how many were right, and between which rates that puts the model."""
    found: dict[str, list[bool]] = defaultdict(list)
    for one in asked:
        reply = kept.get(key_of(one))
        assert reply is not None
        found[one.kind].append(reply["right"])
    rows = []
    for kind, right in found.items():
        n, hits = len(right), sum(right)
        low = 1 - error_bound(n - hits, n, DELTA / 2)
        high = error_bound(hits, n, DELTA / 2)
        rows.append((kind, str(n), f"{hits / n:.0%}", f"{low:.0%} to {high:.0%}"))
    return table(("questions", "n", "right", "95% interval"), rows)


def measure(args: argparse.Namespace) -> str:
    """The table."""
    asked = questions(args.seed)
    kept = Kept(args.out, {"benchmark": "red_lines", "model": args.model, "seed": args.seed})
    backend = LocalBackend(args.model)
    try:
        answer(asked, backend, kept)
    finally:
        backend.close()
    return report(asked, kept)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    return print_report(lambda: measure(args))


if __name__ == "__main__":
    sys.exit(main())
