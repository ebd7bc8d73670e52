"""Does a constraint cost items of lists? Lists read out of sentences, constrained and free.

    python benchmarks/array_recall.py [--model NAME] [--items 60]

Sentences that name two to six things, made from word lists; the model is asked for them as
{"items": [...]}, once under the schema and once free, with the
same prompt; what the free answer holds is taken leniently (the first JSON object in it, or any
quoted words). Recall is the share of the named things that the answer has, in any letter case.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from common import say, table

from vedette.backends.local import LocalBackend
from vedette.errors import VedetteError
from vedette.tasks.generate import Generate
from vedette.types import Completion, Constraint, Request

SCHEMA = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {"type": "string", "maxLength": 40},
            "maxItems": 12,
            "description": "Every thing that the sentence names, in order.",
        }
    },
    "required": ["items"],
    "additionalProperties": False,
}
KINDS = {
    "The cart holds {}.": "apples,bread,milk,rice,coffee,honey,eggs,tea,butter,salt,flour,olives",
    "Broken in the last release: {}.": (
        "login,search,export,billing,upload,the calendar,printing,dark mode,notifications"
    ),
    "We met {} at the fair.": "Ana,Boris,Chen,Dilek,Emil,Fatima,Goran,Hanna,Ivo,Jun,Karim,Lea",
    "Please restock {} before Monday.": (
        "screws,hinges,paint,sandpaper,glue,nails,brushes,drill bits,gloves,tape"
    ),
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text and the things it names."""

    text: str
    things: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """What came back over all sentences."""

    recall: float
    empty: int
    wrong: int
    tokens: float


def sentences(n_items: int, seed: int) -> list[Sentence]:
    """As many as asked for, always the same."""
    rng = random.Random(seed)
    made: list[Sentence] = []
    for number in range(n_items):
        form, words = list(KINDS.items())[number % len(KINDS)]
        things = rng.sample(words.split(","), rng.randint(2, 6))
        listed = f"{', '.join(things[:-1])} and {things[-1]}"
        made.append(Sentence(form.format(listed), tuple(things)))
    return made


def ask(backend: LocalBackend, rows: Sequence[Sentence], *, constrained: bool) -> list[Completion]:
    """All at once, under the schema or free."""
    constraint = Constraint("json_schema", json.dumps(SCHEMA))
    task = Generate(constraint=constraint)
    requests = [
        Request(
            prompt=task.prompt(row.text),
            constraint=constraint if constrained else None,
            max_tokens=200,
        )
        for row in rows
    ]
    handles = [backend.submit(request) for request in requests]
    return [handle.result() for handle in handles]


def items_of(text: str) -> list[str]:
    """The list in an answer, read as kindly as can be."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = json.loads(found.group() if found else text)
        listed = value["items"] if isinstance(value, dict) else value
        return [str(item) for item in listed]
    except (ValueError, KeyError, TypeError):
        return [word for word in re.findall(r'"([^"]+)"', text) if word != "items"]


def score(rows: Sequence[Sentence], answers: Sequence[Completion]) -> Score:
    """Recall over all things; empty lists; answers with something that was not named."""
    hits = named = empty = wrong = 0
    for row, answer in zip(rows, answers, strict=True):
        got = {item.casefold().strip() for item in items_of(answer.text)}
        want = {thing.casefold() for thing in row.things}
        hits += len(want & got)
        named += len(want)
        empty += not got
        wrong += bool(got - want)
    tokens = sum(answer.usage.completion_tokens for answer in answers) / len(answers)
    return Score(hits / named, empty, wrong, tokens)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    if args.items < 1:
        parser.error(f"--items is {args.items}; it must be at least 1")
    rows = sentences(args.items, args.seed)
    try:
        backend = LocalBackend(args.model)
        try:
            lines = []
            for name, constrained in (("under the schema", True), ("free", False)):
                say(f"{name} ...")
                result = score(rows, ask(backend, rows, constrained=constrained))
                lines.append(
                    (
                        name,
                        f"{100 * result.recall:.1f}%",
                        str(result.empty),
                        str(result.wrong),
                        f"{result.tokens:.1f}",
                    )
                )
        finally:
            backend.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    print(f"{args.model}, {len(rows)} sentences, greedy")
    print(table(("answers", "recall", "empty", "with other things", "tokens each"), lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
