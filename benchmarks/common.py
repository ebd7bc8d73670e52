"""What the benchmarks share: the example task, and what decided between two greedy answers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vedette.backends.local import LocalBackend
from vedette.engine.constraint.json_schema import parse_schema
from vedette.errors import VedetteError
from vedette.tasks.examples import extract_examples
from vedette.tasks.extract import Extract
from vedette.types import Request

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCHEMA = EXAMPLES / "event.schema.json"
SHOTS = EXAMPLES / "event.examples.jsonl"
LOG = EXAMPLES / "app.log"

TIE_GAP = 0.1
"""Logits nearer than this may change places when a batch is composed differently: a tie."""


@dataclass(frozen=True, slots=True)
class Step:
    """One token of an answer: its bytes `[start, end)` of the text, and how sure it was.

    `gap` is the distance in logits to the runner-up among the tokens that the grammar allowed.
    """

    token_id: int
    start: int
    end: int
    gap: float
    forced: bool


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two answers part: after `offset` common bytes, by a decision of this `gap`.

    The gap is infinite when no token explains the difference, or a forced one stands there.
    """

    offset: int
    gap: float
    same_tokens_before: bool

    @property
    def is_tie(self) -> bool:
        """Whether rounding alone can have made the difference."""
        return self.gap < TIE_GAP


def event_task() -> Extract:
    """The extraction that the examples folder describes."""
    shots = extract_examples(SHOTS.read_text("utf-8"), str(SHOTS))
    return Extract(schema=parse_schema(SCHEMA.read_text("utf-8")), examples=shots)


def look(backend: LocalBackend, request: Request) -> tuple[Step, ...]:
    """The request's answer token by token; none when it ends in an error."""
    try:
        completion = backend.submit(replace(request, logprobs=True)).result()
    except VedetteError:
        return ()
    steps: list[Step] = []
    at = 0
    for token in completion.logprobs:
        end = at + len(backend.engine.tokenizer.piece(token.token_id))
        steps.append(Step(token.token_id, at, end, token.runner_up_gap, token.forced))
        at = end
    return tuple(steps)


def common_bytes(one: bytes, other: bytes) -> int:
    """How many leading bytes two texts share."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def parting(one: bytes, other: bytes, looks: Sequence[tuple[bytes, Sequence[Step]]]) -> Parting:
    """What decided between two answers, judged by token-by-token runs (text, steps) of them.

    A run counts as far as it repeats what both answers share. The token that covers the first
    differing byte was the decision; where the runs split the text differently, the one that
    begins first, since the other run's token there was its alternative.
    """
    offset = common_bytes(one, other)
    deciding: list[Step] = []
    told: list[Sequence[Step]] = []
    for text, steps in looks:
        step = next((step for step in steps if step.end > offset), None)
        if step is not None and text[:offset] == one[:offset]:
            deciding.append(step)
            told.append(steps)
    first = min((step.start for step in deciding), default=0)
    gaps = [math.inf if step.forced else step.gap for step in deciding if step.start == first]
    forced = any(step.forced for step in deciding if step.start == first)
    gap = math.inf if forced else min(gaps, default=math.inf)
    before = {tuple(s.token_id for s in steps if s.end <= first) for steps in told}
    return Parting(offset=offset, gap=gap, same_tokens_before=len(before) <= 1)


def excerpt(text: bytes, offset: int, *, before: int = 24, after: int = 24) -> str:
    """The text around a byte, with a bar where it is."""
    head = text[max(0, offset - before) : offset].decode("utf-8", "replace")
    tail = text[offset : offset + after].decode("utf-8", "replace")
    return f"{head}|{tail}"


def gap_text(gap: float) -> str:
    """A gap for people."""
    return "not explained by any token" if math.isinf(gap) else f"gap {gap:.4f}"


def say(text: str) -> None:
    """A line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Plain columns, the first one to the left."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = []
    for row in cells:
        first, *rest = (
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)
