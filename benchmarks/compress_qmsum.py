"""How much of what answers a question about a meeting is left in 2,000 tokens (QMSum)?

    python benchmarks/compress_qmsum.py FILE [--every 1] [--budget 2000] [--model NAME]

FILE is a JSONL file of QMSum. For each specific query: the share of the characters of its relevant
turns that is kept, against what the first tokens of the meeting hold; every result is counted, and
its numbers are looked for in the source.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from common import say, table

from vedette.backends.local import LocalBackend
from vedette.batch.single import answer_item
from vedette.tasks.compress.task import Compress
from vedette.types import Item


def meeting(row: dict[str, Any]) -> tuple[str, list[tuple[int, int]]]:
    """The text, a turn a line, and where each turn stands."""
    lines = [f"{turn['speaker']}: {turn['content']}" for turn in row["meeting_transcripts"]]
    turns, at = [], 0
    for line in lines:
        turns.append((at, at + len(line)))
        at += len(line) + 1
    return "\n".join(lines), turns


def share(spans: list[list[int]], wanted: list[tuple[int, int]]) -> float:
    """How much of the wanted stretches the spans hold."""
    held = sum(max(0, min(e, z) - max(s, a)) for s, e in spans for a, z in wanted)
    return held / max(1, sum(z - a for a, z in wanted))


def first_chars(text: str, backend: LocalBackend, budget: int) -> int:
    """How many leading characters have that many tokens."""
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if backend.count_tokens(text[:middle]) <= budget else (low, middle)
        )
    return low


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only each Nth meeting")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    args = parser.parse_args()
    ours: list[float] = []
    first: list[float] = []
    most, n_strange = 0, 0
    backend = LocalBackend(args.model)
    try:
        for line in args.file.read_text("utf-8").splitlines()[:: args.every]:
            row = json.loads(line)
            text, turns = meeting(row)
            head = first_chars(text, backend, args.budget)
            numbers = set(re.findall(r"\d+", text))
            for query in row["specific_query_list"]:
                wanted = [
                    turns[i]
                    for i in sorted(
                        {
                            i
                            for a, z in query["relevant_text_span"]
                            for i in range(int(a), min(int(z), len(turns) - 1) + 1)
                        }
                    )
                ]
                task = Compress(query=query["query"], budget=args.budget)
                value: Any = answer_item(task, Item(id="1", text=text), backend).value
                ours.append(share(value["spans"], wanted))
                first.append(share([[0, head]], wanted))
                most = max(most, backend.count_tokens(value["text"]))
                n_strange += len(set(re.findall(r"\d+", value["text"])) - numbers)
            say(f"{len(ours)} queries")
    finally:
        backend.close()
    rows = [(name, f"{sum(v) / len(v):.3f}") for name, v in (("compress", ours), ("first", first))]
    print(table(("kept", "relevant text"), rows))
    print(f"{len(ours)} queries; most tokens {most}; numbers not in the source {n_strange}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
