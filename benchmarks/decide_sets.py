"""How good are closed questions? Labelled sets put as yes or no, a choice, ordered levels.

    python benchmarks/decide_sets.py DIRECTORY [--model NAME] [--rows 100] [--answers OUT] [--json]

DIRECTORY has sst2.train, ag_news, trec6.train, zh_eprstmt.dev and clinc150.val, as JSONL rows
{"text", "label"}; a set that is not there is left out and named. Of each, --rows chosen at random
are asked once, with `explain`, and from that is told how many answers are right: as scored, with
the prior of texts that say nothing, with the mean over the rows as the prior, and with the options
in both orders. Of yes or no questions, `AUC` is how often a yes row has higher odds of yes than a
no row: what a threshold of your own could make of them. Answers are kept in --answers.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from common import say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.batch.answers import answers
from vedette.decide.closed import decide, mean_logprobs, mean_prior
from vedette.decide.confidence import expected_level
from vedette.decide.question import Question, ask
from vedette.errors import InputError, VedetteError
from vedette.tasks.decide import Decide
from vedette.types import Answer, Item

LEAST = 5e-5  # what a share that was rounded to 0 may have been
TRAVEL = ("book_flight", "book_hotel", "car_rental", "flight_status", "lost_luggage")
NEAR_TRAVEL = (
    *("carry_on", "exchange_rate", "international_visa", "plug_type", "timezone", "translate"),
    *("travel_alert", "travel_notification", "travel_suggestion", "vaccines"),
)
TOPICS = ("world", "sports", "business", "science and technology")
ASKED_FOR = {
    "human": "a person",
    "location": "a place",
    "number": "a number",
    "description": "a description",
    "entity": "a thing",
    "abbreviation": "an abbreviation",
}
MOODS = ("negative", "neutral", "positive")


@dataclass(frozen=True, slots=True)
class Sets:
    """The files, and a random order of their rows."""

    folder: Path
    n: int

    def rows(self, name: str) -> list[dict[str, Any]]:
        rows = json_lines(self.folder / f"{name}.jsonl", "text", "label")
        random.Random(5).shuffle(rows)
        return rows

    def all(self) -> dict[str, tuple[Question, list[tuple[str, str]]]]:
        """Each question with its rows: text and right option."""
        made: dict[str, Callable[[], list[tuple[str, str]]]] = {
            "Is the review positive?": lambda: self.yes_no("sst2.train", ("positive",)),
            "这条评论是正面的吗？": lambda: self.yes_no("zh_eprstmt.dev", ("Positive",)),
            "Is it about sports?": lambda: self.yes_no("ag_news", ("sports",)),
            "Is it about business?": lambda: self.yes_no("ag_news", ("business",)),
            "Does it ask for a person?": lambda: self.yes_no("trec6.train", ("human",)),
            "Is it about a trip or travel?": self.travel,
            f"What is the news about? {'|'.join(TOPICS)}": lambda: self.named("ag_news"),
            f"What does it ask for? {'|'.join(ASKED_FOR.values())}": lambda: [
                (text, ASKED_FOR[label]) for text, label in self.named("trec6.train")
            ],
            f"What is the mood of the text? {'<'.join(MOODS)}": self.moods,
        }
        found = {}
        for line, rows in made.items():
            try:
                found[line] = ask(line), rows()
            except InputError as error:
                say(f"left out: {line} ({error.message})")
        return found

    def named(self, name: str) -> list[tuple[str, str]]:
        return [(row["text"], row["label"]) for row in self.rows(name)[: self.n]]

    def yes_no(self, name: str, yes: Sequence[str]) -> list[tuple[str, str]]:
        return [(text, "yes" if label in yes else "no") for text, label in self.named(name)]

    def travel(self) -> list[tuple[str, str]]:
        """Half of them about travel; what may be taken for travel is left out of the others."""
        rows = self.rows("clinc150.val")
        yes = [(row["text"], "yes") for row in rows if row["label"] in TRAVEL]
        no = [(row["text"], "no") for row in rows if row["label"] not in (*TRAVEL, *NEAR_TRAVEL)]
        return [*yes[: self.n // 2], *no[: self.n // 2]]

    def moods(self) -> list[tuple[str, str]]:
        """Reviews of either kind, and news for those in between."""
        third = self.n // 3
        reviews = self.rows("sst2.train")
        rows = [(row["text"], "neutral") for row in self.rows("ag_news")[:third]]
        for label in ("negative", "positive"):
            rows += [(r["text"], label) for r in reviews if r["label"] == label][:third]
        return rows


def asked(
    line: str, rows: Sequence[tuple[str, str]], kept: Kept, backend: Callable[[], LocalBackend]
) -> list[dict[str, Any]]:
    """What moved each row's answer, from what is kept or from the model."""
    keys = [f"{line} {text}" for text, _ in rows]
    todo = {key: text for key, (text, _) in zip(keys, rows, strict=True) if not kept.get(key)}
    if todo:
        say(f"{line}: {len(todo)} rows ...")
        items = [Item(id=key, text=text) for key, text in todo.items()]
        task = Decide(questions=(ask(line),), explain=True)
        for item, outcome in answers(items, task, backend()):
            if not isinstance(outcome, Answer):
                raise outcome
            value: Any = outcome.value
            kept.add(item.id, value["answers"]["q1"]["explain"])
    return [kept.get(key) or {} for key in keys]


def logs(shares: dict[str, float]) -> list[float]:
    return [math.log(max(value, LEAST)) for value in shares.values()]


def report(question: Question, right: Sequence[int], moved: Sequence[Any]) -> dict[str, Any]:
    raw = [logs(one["raw"]) for one in moved]
    turned = [logs(one["raw_in_reverse"]) for one in moved]
    both = [mean_logprobs(pair) for pair in zip(raw, turned, strict=True)]
    ways = {
        "raw": (raw, None),
        "content_free": (raw, logs(moved[0]["prior"]) if moved[0]["prior"] else None),
        "rows": (raw, mean_prior(raw)),
        "both_orders": (both, None),
        "both_orders_rows": (both, mean_prior(both)),
    }
    found: dict[str, Any] = {"kind": question.kind, "n": len(right)}
    for name, (scores, prior) in ways.items():
        said = [decide(question.names, row, prior) for row in scores]
        n_right = sum(d.order[0] == i for d, i in zip(said, right, strict=True))
        found[name] = n_right / len(right)
        if question.kind == "score":
            levels = [expected_level(d.probabilities) for d in said]
            found[f"mae_{name}"] = statistics.mean(
                abs(level - i) for level, i in zip(levels, right, strict=True)
            )
    if question.kind == "noul":
        found["auc"] = auc([row[0] - row[1] for row in raw], right)
        found["auc_both"] = auc([row[0] - row[1] for row in both], right)
    return found


def auc(odds: Sequence[float], right: Sequence[int]) -> float:
    yes = [odd for odd, i in zip(odds, right, strict=True) if i == 0]
    no = [odd for odd, i in zip(odds, right, strict=True) if i == 1]
    won = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
    return won / max(1, len(yes) * len(no))


def shown(found: dict[str, dict[str, Any]]) -> str:
    ways = ("raw", "content_free", "rows", "both_orders", "both_orders_rows")
    head = ["question", "rows", *(way.replace("_", " ") for way in ways), "AUC", "both", "MAE"]
    lines = []
    for line, one in found.items():
        more = [f"{one[key]:.2f}" if key in one else "" for key in ("auc", "auc_both")]
        error = f"{one['mae_content_free']:.2f}" if "mae_content_free" in one else ""
        lines.append([line, f"{one['n']}", *(f"{one[w]:.1%}" for w in ways), *more, error])
    means = [f"{statistics.mean(one[w] for one in found.values()):.1%}" for w in ways]
    return table(head, [*lines, ["mean", "", *means, "", "", ""]])


def run(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    opened: list[LocalBackend] = []

    @cache
    def backend() -> LocalBackend:
        opened.append(LocalBackend(args.model))  # only where something is to be asked
        return opened[0]

    about = {"model": args.model, "prompt": Decide(questions=(ask("?"),)).identity["prompt"]}
    kept = Kept(args.answers, about)
    found = {}
    try:
        for line, (question, rows) in Sets(args.folder, args.rows).all().items():
            right = [question.names.index(option) for _, option in rows]
            found[line] = report(question, right, asked(line, rows, kept, backend))
    finally:
        for one in opened:
            one.close()
    if not found:
        raise InputError(f"{args.folder} has none of the sets")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--rows", type=int, default=100, help="of each set")
    parser.add_argument("--answers", type=Path, help="where answers are kept")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        found = run(args)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    print(json.dumps(found, ensure_ascii=False) if args.json else shown(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
