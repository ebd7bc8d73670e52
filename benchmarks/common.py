"""What the benchmarks share: the example task, and what decided between two greedy answers."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vedette.backends.local import LocalBackend
from vedette.cli.bench_run import stopped_by_sigterm
from vedette.engine.constraint.json_schema import parse_schema
from vedette.errors import VedetteError
from vedette.tasks.examples import extract_examples
from vedette.tasks.extract import Extract
from vedette.types import Request

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCHEMA = EXAMPLES / "event.schema.json"
SHOTS = EXAMPLES / "event.examples.jsonl"
LOG = EXAMPLES / "app.log"


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
class Run:
    """One answer as it was decoded; when the request failed, `error` says why."""

    text: bytes
    steps: tuple[Step, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two answers part, and by how much.

    `offset` common bytes lead up to it. `gaps` are the distances by which either run preferred
    its own token there, in logits: the two runs differ by at least their sum. They are infinite
    where no choice explains it.
    """

    offset: int
    gaps: tuple[float, float]
    same_tokens_before: bool

    @property
    def moved(self) -> float:
        """The least change in logits that makes both runs right."""
        return sum(self.gaps)


def event_task() -> Extract:
    """The extraction that the examples folder describes."""
    shots = extract_examples(SHOTS.read_text("utf-8"), str(SHOTS))
    return Extract(schema=parse_schema(SCHEMA.read_text("utf-8")), examples=shots)


def watch(backend: LocalBackend, requests: Sequence[Request]) -> list[Run]:
    """All answers token by token, everything submitted at once."""
    handles = [backend.submit(replace(request, logprobs=True)) for request in requests]
    runs: list[Run] = []
    for handle in handles:
        try:
            completion = handle.result()
        except VedetteError as error:
            runs.append(Run(b"", (), f"{error.code}: {error.message}"))
            continue
        steps: list[Step] = []
        at = 0
        for token in completion.logprobs:
            end = at + len(backend.engine.tokenizer.piece(token.token_id))
            steps.append(Step(token.token_id, at, end, token.runner_up_gap, token.forced))
            at = end
        runs.append(Run(completion.text.encode(), tuple(steps)))
    return runs


def common_bytes(one: bytes, other: bytes) -> int:
    """How many leading bytes two texts share."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def parting(one: Run, other: Run) -> Parting:
    """What decided between two runs that wrote different texts.

    It is the last place before the first differing byte where a token begins in both: there the
    runs took different tokens, even if those begin with the same bytes.
    """
    offset = common_bytes(one.text, other.text)
    starts = [{step.start: step for step in run.steps} for run in (one, other)]
    at = max((x for x in starts[0].keys() & starts[1].keys() if x <= offset), default=None)
    if at is None:
        return Parting(offset, (math.inf, math.inf), same_tokens_before=True)
    deciding = [steps[at] for steps in starts]
    gaps = [math.inf if step.forced else step.gap for step in deciding]
    before = {tuple(s.token_id for s in run.steps if s.end <= at) for run in (one, other)}
    return Parting(offset, (gaps[0], gaps[1]), same_tokens_before=len(before) == 1)


def nearest_gap(run: Run, other: bytes) -> float:
    """The smallest gap of a token that can have decided against another text.

    The other text's tokens are not known, so the one that ends where the texts part counts too.
    """
    offset = common_bytes(run.text, other)
    touching = [s for s in run.steps if s.start <= offset <= s.end and not s.forced]
    return min((step.gap for step in touching), default=math.inf)


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


def print_report(measured: Callable[[], str], *, kept_in: str | None = "--out") -> int:
    """Measure and print the report, the last thing that a `main` does. Returns the exit code.

    SIGTERM stops it as Ctrl-C does. `kept_in` is the option whose file a stopped run goes on from.
    """
    try:
        with stopped_by_sigterm():
            print(measured())
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        go_on = f"; the same command goes on with what is in {kept_in}" if kept_in else ""
        say(f"stopped{go_on}")
        return 130
    return 0


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
