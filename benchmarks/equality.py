"""Do the engine's short cuts change its answers? They must not.

    python benchmarks/equality.py [--model NAME] [--items 200] [--variants width-1,all-off] \\
        [--width 16]

Greedy answers of the example extraction, with everything on at width 16, are held against those
with forced tokens off, prefix sharing off, width 1, and all three. With sharing off every row's
prompt is in the cache as a whole, and each token is held against all of them: `--width 2` for both
sides makes that variant some twenty times faster. Where an item differs, the
table says how sure either run was at the token that parted them, and how far plain llama.cpp,
without the engine, moves such gaps along the same answer when only the order of its sums changes
(see rounding.py). A difference within that is a numerical tie; anything else is a bug.
Exit code: 0 the same but for ties, 1 a bug, 2 cannot run.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from common import (
    LOG,
    Parting,
    Run,
    event_task,
    excerpt,
    gap_text,
    parting,
    say,
    table,
    watch,
)
from rounding import gap_noise

from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.errors import VedetteError
from vedette.types import Item, Request

BASELINE = EngineOptions(width=16)
VARIANTS: dict[str, dict[str, Any]] = {
    "forced-off": {"use_forced": False},
    "sharing-off": {"share_prefixes": False},
    "width-1": {"width": 1},
    "all-off": {"use_forced": False, "share_prefixes": False, "width": 1},
}


@dataclass(frozen=True, slots=True)
class Question:
    """A request and where it comes from: a line of the log (or a window of a long one)."""

    name: str
    request: Request


@dataclass(frozen=True, slots=True)
class Difference:
    """A question that a variant answered differently, and what decided it.

    `noise` is how far rounding alone moves a gap along this answer, in logits.
    """

    question: str
    baseline: Run
    variant: Run
    parting: Parting
    noise: float

    @property
    def is_tie(self) -> bool:
        """Whether rounding alone can have made the difference."""
        return self.parting.moved <= self.noise

    def as_dict(self) -> dict[str, object]:
        """For `--json`; an infinite gap (no choice explains it) is null."""
        gaps = [None if math.isinf(gap) else round(gap, 6) for gap in self.parting.gaps]
        return {
            "question": self.question,
            "tie": self.is_tie,
            "gaps": gaps,
            "noise": round(self.noise, 6),
            "offset_bytes": self.parting.offset,
            "same_tokens_before": self.parting.same_tokens_before,
            "baseline": self.baseline.error or self.baseline.text.decode(),
            "variant": self.variant.error or self.variant.text.decode(),
        }

    def as_text(self) -> str:
        """Three lines, two of them around the first differing byte."""
        verdict = "tie" if self.is_tie else "BUG"
        split = "" if self.parting.same_tokens_before else ", the text before split otherwise"
        gaps = " and ".join(gap_text(gap) for gap in self.parting.gaps)
        lines = [f"  {verdict} {self.question}: {gaps}, noise {self.noise:.4f}{split}"]
        for name, run in (("baseline", self.baseline), ("variant ", self.variant)):
            lines.append(f"    {name} {run.error or excerpt(run.text, self.parting.offset)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One variant against the baseline."""

    variant: str
    wall_s: float
    differences: tuple[Difference, ...]

    @property
    def bugs(self) -> int:
        """Differences that rounding does not explain."""
        return sum(not difference.is_tie for difference in self.differences)


def questions_of(backend: LocalBackend, n_items: int) -> list[Question]:
    """The requests that the first `n_items` non-empty lines of the log lead to."""
    task = event_task()
    lines = [(n, x) for n, x in enumerate(LOG.read_text("utf-8").split("\n"), 1) if x.strip()]
    found: list[Question] = []
    for number, line in lines[:n_items]:
        asks = next(task.steps(Item(id=str(number), text=line), backend))
        for window, ask in enumerate(asks, start=1):
            name = f"line {number}" if len(asks) == 1 else f"line {number}, window {window}"
            found.append(Question(name, cast(Request, ask)))
    return found


def compare(
    variant: str,
    backend: LocalBackend,
    base: LocalBackend,
    questions: Sequence[Question],
    want: Sequence[Run],
) -> Outcome:
    """Run one variant, and look closely at each item that it answers differently. Closes it."""
    try:
        began = time.perf_counter()
        runs = watch(backend, [question.request for question in questions])
        wall_s = time.perf_counter() - began
    finally:
        backend.close()
    differences = [
        Difference(
            question.name,
            old,
            new,
            parting(old, new),
            gap_noise(base, question.request, [step.token_id for step in old.steps]),
        )
        for question, old, new in zip(questions, want, runs, strict=True)
        if (old.text, old.error) != (new.text, new.error)
    ]
    return Outcome(variant, wall_s, tuple(differences))


def report(base: str, n_items: int, base_s: float, outcomes: Sequence[Outcome]) -> str:
    """The table and every differing item."""
    rows = [("everything on", "", "", "", f"{base_s:.1f}")]
    for outcome in outcomes:
        n, bugs = len(outcome.differences), outcome.bugs
        rows.append((outcome.variant, str(n), str(n - bugs), str(bugs), f"{outcome.wall_s:.1f}"))
    parts = [
        f"{base}, {n_items} requests, greedy",
        table(("variant", "differ", "ties", "bugs", "seconds"), rows),
    ]
    for outcome in outcomes:
        if outcome.differences:
            parts.append(f"{outcome.variant}:")
            parts += [difference.as_text() for difference in outcome.differences]
    return "\n".join(parts)


def as_json(base: str, n_items: int, base_s: float, outcomes: Sequence[Outcome]) -> str:
    """The same for machines."""
    body = {
        "baseline_is": base,
        "requests": n_items,
        "baseline": {"wall_s": round(base_s, 3)},
        "variants": {
            outcome.variant: {
                "wall_s": round(outcome.wall_s, 3),
                "differ": len(outcome.differences),
                "bugs": outcome.bugs,
                "differences": [difference.as_dict() for difference in outcome.differences],
            }
            for outcome in outcomes
        },
    }
    return json.dumps(body, ensure_ascii=False)


def parse_args() -> argparse.Namespace:
    """The options; wrong ones end the program with exit code 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--items", type=int, default=200, help="lines of the log (200)")
    parser.add_argument(
        "--variants", default=",".join(VARIANTS), help=f"of {', '.join(VARIANTS)} (all of them)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=BASELINE.threads,
        help=f"CPU threads ({BASELINE.threads}); fewer where other programs are running",
    )
    parser.add_argument("--width", type=int, default=BASELINE.width, help="at most so many at once")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    args.variants = [name.strip() for name in args.variants.split(",") if name.strip()]
    if unknown := [name for name in args.variants if name not in VARIANTS]:
        parser.error(f"there is no variant {unknown[0]!r}; there are {', '.join(VARIANTS)}")
    if not args.variants:
        parser.error(f"--variants names none; there are {', '.join(VARIANTS)}")
    for name in ("items", "threads", "width"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; it must be at least 1")
    return args


def main() -> int:
    args = parse_args()
    try:
        options = replace(BASELINE, threads=args.threads, width=args.width)
        base = LocalBackend(args.model, options)
        try:
            questions = questions_of(base, args.items)
            say(f"everything on: {len(questions)} requests")
            began = time.perf_counter()
            want = watch(base, [question.request for question in questions])
            base_s = time.perf_counter() - began
            outcomes: list[Outcome] = []
            for name in args.variants:
                say(f"{name} ...")
                variant = LocalBackend(args.model, replace(options, **VARIANTS[name]))
                outcomes.append(compare(name, variant, base, questions, want))
                say(f"{name}: {len(outcomes[-1].differences)} differ, {outcomes[-1].bugs} bugs")
        finally:
            base.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    shape = as_json if args.json else report
    print(shape(f"{args.model} at width {args.width}", len(questions), base_s, outcomes))
    return 1 if any(outcome.bugs for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
