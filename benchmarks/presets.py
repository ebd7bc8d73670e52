"""How good the presets are: sentiment, tag, metadata, triage.

    python benchmarks/presets.py [--model NAME] [--only NAME...] [--sentiment FILE...] [--out FILE]

The rows are those of tests/tasks/data: our own, half of them Chinese. --sentiment adds files of
rows {"text", "label": positive or negative}, such as SST-2, of which --n are drawn; the prior is
the mean over each file's first rows. Answers go to --out as they come; a run that is begun again
takes them from there.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from common import print_report, say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.batch.answers import answers
from vedette.errors import VedetteError
from vedette.tasks.base import Task
from vedette.tasks.labels import Label
from vedette.tasks.presets import build
from vedette.types import Item

DATA = Path(__file__).resolve().parent.parent / "tests" / "tasks" / "data"
TAGS = ("sport", "politics", "health", "technology", "travel", "food", "money", "weather")
Pairs: TypeAlias = list[tuple[dict[str, Any], Any]]
Line: TypeAlias = tuple[str, str]


def share(hits: list[bool]) -> str:
    """A share with its count."""
    return f"{fmean(hits):.0%} of {len(hits)}"


def of_sentiment(pairs: Pairs) -> Iterator[Line]:
    """Right labels; where no row is neutral, also without that label."""
    yield "right", share([value["label"] == row["label"] for row, value in pairs])
    if all(row["label"] != "neutral" for row, _ in pairs):
        leaning = [
            max(("positive", "negative"), key=value["probabilities"].__getitem__) == row["label"]
            for row, value in pairs
        ]
        yield "right, neutral left out", share(leaning)


def of_listed_tags(pairs: Pairs) -> Iterator[Line]:
    """Precision and recall over all tags of all rows, and whether the first tag is right."""
    hits = sum(len({*value["tags"]} & {*row["tags"]}) for row, value in pairs)
    said = sum(len(value["tags"]) for _, value in pairs)
    yield "precision", f"{hits / max(1, said):.0%} of {said}"
    n_right = sum(len(row["tags"]) for row, _ in pairs)
    yield "recall", f"{hits / n_right:.0%} of {n_right}"
    best = [max(TAGS, key=value["probabilities"].__getitem__) for _, value in pairs]
    firsts = [tag in row["tags"] for (row, _), tag in zip(pairs, best, strict=True)]
    yield "likeliest tag is right", share(firsts)


def of_free_tags(pairs: Pairs) -> Iterator[Line]:
    """Rows with a tag that says what the row is about."""
    yield "a tag names the subject", share([_names(row, value["tags"]) for row, value in pairs])
    yield "tags a row", f"{fmean(len(value['tags']) for _, value in pairs):.1f}"


def _names(row: dict[str, Any], said: list[str]) -> bool:
    return any(word.lower() in one.lower() for word in row["words"] for one in said)


def of_metadata(pairs: Pairs) -> Iterator[Line]:
    """Each field on its own."""
    for key in ("title", "date", "language", "type"):
        yield key, share([value[key] == row[key] for row, value in pairs])
    yield (
        "authors, all and no other",
        share([sorted(value["authors"]) == sorted(row["authors"]) for row, value in pairs]),
    )
    yield "a topic names the subject", share([_names(row, value["topics"]) for row, value in pairs])


def of_triage(pairs: Pairs) -> Iterator[Line]:
    """Each question on its own."""
    for key in ("category", "team"):
        yield key, share([value["answers"][key]["choice"] == row[key] for row, value in pairs])
    levels = [(row["urgency"], value["answers"]["urgency"]["score"]) for row, value in pairs]
    yield "urgency, nearest level", share([round(said) == right for right, said in levels])
    pairwise = [
        said > other_said for right, said in levels for other, other_said in levels if right > other
    ]
    yield "urgency, two tickets in order", share(pairwise)
    noul = [(row["angry"], value["answers"]["angry"]["noul"]) for row, value in pairs]
    yield "angry, at 0.5", share([(said > 0.5) == right for right, said in noul])
    ranked = [a > b for is_angry, a in noul if is_angry for other, b in noul if not other]
    yield "angry, two tickets in order", share(ranked)


def jobs(args: argparse.Namespace) -> Iterator[tuple[str, Task, list[dict[str, Any]], Callable]]:
    """Name, task, rows and judge of each part."""
    listed = build.listed_tags(tuple(map(Label, TAGS)))
    own = {
        "sentiment": (build.sentiment(), "sentiment", of_sentiment),
        "triage": (build.triage(), "triage", of_triage),
        "tags of a list": (listed, "tags", of_listed_tags),
        "free tags": (build.free_tags(), "tags", of_free_tags),
        "metadata": (build.metadata(), "metadata", of_metadata),
    }
    for name, (task, file, judge) in own.items():
        if not args.only or name in args.only:
            yield name, task, json_lines(DATA / f"{file}.jsonl", "text"), judge
    for path in args.sentiment:
        rows = json_lines(path, "text", "label")
        random.Random(0).shuffle(rows)
        yield f"sentiment, {path.name}", build.sentiment(), rows[: args.n], of_sentiment


def answered(
    name: str, task: Task, rows: list[dict[str, Any]], kept: Kept, backend: LocalBackend
) -> Pairs:
    """The rows with their values; those that ended in an error are left out."""
    texts = [row["text"] for row in rows]
    if any(kept.get(f"{name}/{text}") is None for text in texts):
        items = (Item(id=str(i), text=text) for i, text in enumerate(texts))
        for item, outcome in answers(items, task, backend):
            is_error = isinstance(outcome, VedetteError)
            kept.add(
                f"{name}/{item.text}",
                {"error": str(outcome)} if is_error else {"value": outcome.value},
            )
        say(f"{name}: done")
    replies = [(row, kept.get(f"{name}/{row['text']}") or {}) for row in rows]
    return [(row, reply["value"]) for row, reply in replies if "error" not in reply]


def measure(args: argparse.Namespace) -> str:
    """The table."""
    kept = Kept(args.out, {"benchmark": "presets", "model": args.model})
    backend = LocalBackend(args.model)
    lines: list[tuple[str, str, str]] = []
    try:
        for name, task, rows, judge in jobs(args):
            pairs = answered(name, task, rows, kept, backend)
            found = [*judge(pairs), ("errors", str(len(rows) - len(pairs)))]
            lines += [(name if not i else "", *line) for i, line in enumerate(found)]
    finally:
        backend.close()
    return table(("preset", "", ""), lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--sentiment", nargs="*", type=Path, default=[])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    return print_report(lambda: measure(args))


if __name__ == "__main__":
    sys.exit(main())
