"""What does a job gain from rows that begin alike, and what does the search for them cost?

    python benchmarks/job_order.py FILE --out TURNS.jsonl [--model NAME] [--documents 20]
        [--questions 10] [--characters 1000] [--max-tokens 12] [--threads 1] [--turns 2]
        [--seconds S]

FILE is a JSONL file of QMSum; documents are the first characters of its meetings. Two jobs over as
many rows: `documents`, each with each question behind it, shuffled, and `apart`, pieces of the
meetings that have nothing in common. Each runs in all ways in turns, on an engine of its own:

    declared  only what the task declares to be shared (its instructions), rows as they come
    engine    and whatever else live prompts have in common, rows as they come
    order     and rows with the same beginning as neighbours: what a job of files does

Told are the seconds of each way, how many times as fast as `declared` it is by the clock and by
the processor time of one thread (which other programs hardly change), the tokens read and taken
from the cache, the share of the steps' time outside of llama.cpp, and how many answers are not
those of `declared`. Every turn is a line of --out; the same command goes on from there, and
`--seconds` ends it early.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from common import print_report, say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend, options_of
from vedette.batch import Job, Source, run, runner
from vedette.batch.ahead import Ahead
from vedette.config import load
from vedette.engine.cells import Cells
from vedette.errors import InputError
from vedette.tasks.generate import Generate

WAYS = ("declared", "engine", "order")
JOBS = ("documents", "apart")
QUESTIONS = (
    "What is this about?",
    "Who speaks first?",
    "Is a decision made?",
    "What is to be done next?",
    "Which problem is named?",
    "Is a date or time mentioned?",
    "Does anybody disagree?",
    "Which tool or method is named?",
    "How does it begin?",
    "Is money mentioned?",
)
INSTRUCTIONS = (
    "You read a piece of the minutes of a meeting and answer the question below it in one short "
    "sentence. Say only what the piece says, and say 'not mentioned' where it says nothing."
)


def rows_of(options: argparse.Namespace) -> dict[str, list[str]]:
    """The rows of each job. Raises `InputError` for a file that does not hold enough text."""
    meetings = [
        "\n".join(f"{turn['speaker']}: {turn['content']}" for turn in row["meeting_transcripts"])
        for row in json_lines(options.file, "meeting_transcripts")
    ]
    n, size = options.documents, options.characters
    questions = QUESTIONS[: options.questions]
    pieces = [
        meeting[at : at + size] for meeting in meetings for at in range(0, len(meeting), size)
    ]
    if len(meetings) < n or len(pieces) < n * len(questions):
        raise InputError(f"{options.file} has too little text for so many documents")
    chance = random.Random(1)
    asked = [f"{meeting[:size]}\n\n{q}" for meeting in meetings[:n] for q in questions]
    chance.shuffle(asked)
    # Numbered in front, so that no two of them begin alike even where people do.
    apart = [
        f"{number}. {piece}\n\n{questions[number % len(questions)]}"
        for number, piece in enumerate(chance.sample(pieces, len(asked)))
    ]
    return {"documents": asked, "apart": apart}


@contextmanager
def way_of(name: str) -> Iterator[None]:
    """With parts switched off that have no switch of their own."""
    with ExitStack() as stack:
        if name == "declared":
            stack.enter_context(mock.patch.object(Cells, "shares_live", new=False))
        if name != "order":
            stack.enter_context(mock.patch.object(runner, "Ahead", return_value=Ahead(1)))
        yield


def turn_of(way: str, rows: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """One job on a fresh engine: seconds, tokens, answers."""
    task = Generate(instructions=INSTRUCTIONS, max_tokens=options.max_tokens)
    settings = load(model=options.model, threads=options.threads)
    with tempfile.TemporaryDirectory() as folder, way_of(way):
        source, out = Path(folder, "rows.jsonl"), Path(folder, "out.jsonl")
        source.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), "utf-8")
        backend = LocalBackend(settings.model, options_of(settings))
        try:
            job = Job(source=Source(paths=(str(source),)), task=task, backend=backend, out=str(out))
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            summary = run(job)
            seconds = time.perf_counter() - began_s
            cpu_s = time.process_time() - began_cpu_s
            if summary.interrupted:
                raise KeyboardInterrupt
            stats = backend.stats
            shared, outside = stats.tokens_shared, stats.python_share
        finally:
            backend.close()
        answers = [json.loads(line)["value"] for line in out.read_text("utf-8").splitlines()]
    read = summary.usage.prompt_tokens - summary.usage.cached_tokens
    return {
        "seconds": seconds,
        "cpu_s": cpu_s,
        "read": read,
        "shared": shared,
        "outside": outside,
        "answers": answers,
    }


def measured(options: argparse.Namespace) -> str:
    """The report, after the turns that are still missing or for which there is time."""
    names = ("model", "documents", "questions", "characters", "max_tokens", "threads")
    kept = Kept(options.out, {name: getattr(options, name) for name in names})
    rows = rows_of(options)
    ends_s = time.monotonic() + options.seconds
    for number in range(options.turns):
        # Each way is first once in three turns.
        ways = [WAYS[(number + i) % len(WAYS)] for i in range(len(WAYS))]
        for job in JOBS:
            for way in ways:
                key = f"{job} {way} {number}"
                if kept.get(key) is None and time.monotonic() < ends_s:
                    kept.add(key, turn_of(way, rows[job], options))
                    say(f"{key}: {kept.get(key)['seconds']:.1f} s")  # type: ignore[index]
    return "\n\n".join(report(job, kept, options.turns) for job in JOBS)


def report(job: str, kept: Kept, n_turns: int) -> str:
    """The table of one job over the turns that all ways have had."""
    turns = [
        {way: found for way in WAYS if (found := kept.get(f"{job} {way} {number}"))}
        for number in range(n_turns)
    ]
    turns = [turn for turn in turns if len(turn) == len(WAYS)]
    if not turns:
        return f"{job}: no turn has been measured in all ways yet"
    base = [turn["declared"] for turn in turns]
    lines = []
    for way in WAYS:
        own = [turn[way] for turn in turns]
        pairs = zip(own[0]["answers"], base[0]["answers"], strict=True)
        lines.append(
            (
                way,
                f"{median(turn['seconds'] for turn in own):.1f}",
                ratio([turn["seconds"] for turn in base], [turn["seconds"] for turn in own]),
                ratio([turn["cpu_s"] for turn in base], [turn["cpu_s"] for turn in own]),
                f"{own[0]['read']:,}",
                f"{own[0]['shared']:,}",
                f"{median(turn['outside'] for turn in own):.1%}",
                str(sum(left != right for left, right in pairs)),
            )
        )
    head = (job, "seconds", "as fast", "by processor", "read", "shared", "outside", "differ")
    return f"{len(turns)} turns of {len(base[0]['answers'])} rows\n" + table(head, lines)


def ratio(base: list[float], own: list[float]) -> str:
    """How many times less than the baseline it took: the median of the turns, and their range."""
    found = [left / right for left, right in zip(base, own, strict=True)]
    return f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, help="keep the turns here, and go on from them")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--characters", type=int, default=1000)
    parser.add_argument("--max-tokens", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    if not 1 <= options.questions <= len(QUESTIONS):
        parser.error(f"--questions must be from 1 to {len(QUESTIONS)}")
    return print_report(lambda: measured(options))


if __name__ == "__main__":
    sys.exit(main())
