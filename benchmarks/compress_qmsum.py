"""How much of what answers a question about a meeting is left in 2,000 tokens (QMSum)?

    python benchmarks/compress_qmsum.py FILE [--budget 2000] [--tokenizer NAME] [--every 1]
        [--queries N] [--out PARTS.jsonl] [--seconds S]
        [--model NAME --how sentences|points --model-share 0.3]

FILE is a JSONL file of QMSum. For each specific query about each meeting: the share of the
characters of its relevant turns that is kept, against what the first tokens of the meeting hold;
every result is counted, and its numbers are looked for in the source. With `--how points`, the
places that the points were written from count as kept, and the recall says little.

Without `--model` the rules rank and no weights are loaded, only the vocabulary of `--tokenizer`.
With `--out` each query's figures are a line of that file, and what stands there is not done again:
`--seconds` ends a turn early, the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from common import say, table

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.backends.none import NoModel
from vedette.backends.tokenizers import ModelTokenizer, open_tokenizer
from vedette.batch.single import answer_item
from vedette.errors import VedetteError
from vedette.tasks.compress.task import Compress
from vedette.types import Item

Figures = dict[str, Any]


@dataclass(frozen=True)
class Meeting:
    """One row of the file: its turns as text, and where each stands."""

    number: int
    row: dict[str, Any]

    @cached_property
    def lines(self) -> list[str]:
        return [f"{turn['speaker']}: {turn['content']}" for turn in self.row["meeting_transcripts"]]

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        spans, at = [], 0
        for line in self.lines:
            spans.append((at, at + len(line)))
            at += len(line) + 1
        return spans

    @cached_property
    def numbers(self) -> set[str]:
        return set(re.findall(r"\d+", self.text))

    def wanted(self, query: dict[str, Any]) -> list[tuple[int, int]]:
        """The turns that are relevant to a query, each once."""
        last = len(self.turns) - 1
        numbers = {
            i
            for start, end in query["relevant_text_span"]
            for i in range(int(start), min(int(end), last) + 1)
        }
        return [self.turns[i] for i in sorted(numbers)]


def share(spans: list[list[int]], wanted: list[tuple[int, int]]) -> float:
    """How much of the wanted stretches the spans hold."""
    held = sum(max(0, min(e, z) - max(s, a)) for s, e in spans for a, z in wanted)
    return held / max(1, sum(z - a for a, z in wanted))


def first_chars(text: str, tokenizer: ModelTokenizer, budget: int) -> int:
    """How many leading characters have that many tokens."""
    low, high = 0, min(len(text), 20 * budget)
    while high - low > 1:
        middle = (low + high) // 2
        fits = tokenizer.count_tokens(text[:middle]) <= budget
        low, high = (middle, high) if fits else (low, middle)
    return low


def questions(args: argparse.Namespace) -> Iterator[tuple[str, Meeting, dict[str, Any]]]:
    """Every query that is asked, with a name that stays the same."""
    lines = args.file.read_text("utf-8").splitlines()
    for number in range(0, len(lines), args.every):
        meeting = Meeting(number, json.loads(lines[number]))
        for i, query in enumerate(meeting.row["specific_query_list"][: args.queries]):
            yield f"{number}.{i}", meeting, query


def figures(name: str, meeting: Meeting, query: dict[str, Any], run: Run) -> Figures:
    """What is left for one query, or the error."""
    wanted = meeting.wanted(query)
    started = time.monotonic()
    task = run.task(query["query"])
    try:
        answer = answer_item(task, Item(id=name, text=meeting.text), run.backend)
    except VedetteError as error:
        return {"id": name, "meeting": meeting.number, "error": error.code}
    value: Any = answer.value
    head = first_chars(meeting.text, run.tokenizer, run.budget)
    spans = [point["span"] for point in value["points"]] if "points" in value else value["spans"]
    strange = set(re.findall(r"\d+", value["text"])) - meeting.numbers
    return {
        "id": name,
        "meeting": meeting.number,
        "kept": share(spans, wanted),
        "first": share([[0, head]], wanted),
        "tokens": run.tokenizer.count_tokens(value["text"]),
        "told_tokens": value["tokens"],
        "source_tokens": value["source_tokens"],
        "strange_numbers": sorted(strange),
        "read_tokens": answer.usage.prompt_tokens,
        "seconds": round(time.monotonic() - started, 2),
    }


class Run:
    """Who counts, who answers, and with which options."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.budget: int = args.budget
        self._how: dict[str, Any] = {"how": args.how, "model_share": args.model_share}
        tokenizer = open_tokenizer(args.tokenizer or args.model or "qwen2.5-coder-0.5b")
        if not isinstance(tokenizer, ModelTokenizer):
            raise SystemExit("give a model's name as --tokenizer")
        self.tokenizer = tokenizer
        self.backend: Backend = LocalBackend(args.model) if args.model else NoModel()

    def task(self, query: str) -> Compress:
        return Compress(query=query, budget=self.budget, tokenizer=self.tokenizer, **self._how)


def report(found: list[Figures], n_asked: int) -> str:
    """Means over the queries, and what must never happen."""
    good = [one for one in found if "error" not in one]
    if not good:
        return "nothing answered"
    n = len(good)
    kept, first = (sum(one[key] for one in good) / n for key in ("kept", "first"))
    better = sum(one["kept"] >= 2 * one["first"] for one in good)
    rows = [("compress", f"{kept:.3f}"), ("first tokens", f"{first:.3f}")]
    return "\n".join(
        [
            table(("kept", "relevant text"), rows),
            f"{n} of {n_asked} queries about {len({one['meeting'] for one in good})} meetings; "
            f"{len(found) - n} errors; ratio {kept / max(first, 1e-9):.2f}; "
            f"at least twice the first tokens for {better}",
            f"most tokens {max(one['tokens'] for one in good)}; "
            f"told and counted differ {sum(one['tokens'] != one['told_tokens'] for one in good)}; "
            f"numbers not in the source {sum(len(one['strange_numbers']) for one in good)}",
            f"source tokens, mean {sum(one['source_tokens'] for one in good) / n:.0f}; "
            f"seconds a query, mean {sum(one['seconds'] for one in good) / n:.1f}",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only each Nth meeting")
    parser.add_argument("--queries", type=int, help="only the first N queries of a meeting")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--tokenizer")
    parser.add_argument("--model")
    parser.add_argument("--how", choices=("sentences", "points"), default="sentences")
    parser.add_argument("--model-share", type=float, default=0.0)
    parser.add_argument("--out", type=Path, help="a line for each query, done once")
    parser.add_argument("--seconds", type=float, help="begin no query after this time")
    args = parser.parse_args()
    if args.model is None and (args.how != "sentences" or args.model_share):
        parser.error("--how points and --model-share need --model")
    asked = list(questions(args))
    found: dict[str, Figures] = {}
    if args.out and args.out.exists():
        lines = args.out.read_text("utf-8").splitlines()
        found = {one["id"]: one for one in map(json.loads, lines)}
    left = [one for one in asked if one[0] not in found]
    run = Run(args)
    started = time.monotonic()
    try:
        for name, meeting, query in left:
            if args.seconds and time.monotonic() - started > args.seconds:
                say("the time is up; the same command goes on")
                break
            found[name] = figures(name, meeting, query, run)
            if args.out:
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found[name]) + "\n")
            say(f"{len(found)} of {len(asked)}: {found[name]}")
    finally:
        run.backend.close()
    print(report([found[name] for name, _, _ in asked if name in found], len(asked)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
