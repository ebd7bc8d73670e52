"""F1 on labelled pairs: rules alone, and rules with a model in the grey band.

    python benchmarks/dedupe_pairs.py PAIRS.jsonl --model qwen2.5-coder-0.5b --sample 60

A row is {"left": ..., "right": ..., "label": "0" or "1"}; records are written as
`COL title VAL ... COL manufacturer VAL ...` (as the ditto project writes them) or as any text. The
threshold is tuned on one half of the rows and told on the other; the halves are cut by a hash.
Without --model only the rules are measured. `--sample N` asks the model about N grey pairs of each
half only, and compares it with the rules on these same pairs.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from vedette import Engine
from vedette.batch import answers
from vedette.errors import VedetteError
from vedette.json_text import json_text
from vedette.tasks.dedupe.finder import Matching
from vedette.tasks.dedupe.index import WordIndex
from vedette.tasks.dedupe.normalise import Normalise
from vedette.tasks.dedupe.shingles import Shingles
from vedette.tasks.same import OTHER, Same, probabilities
from vedette.types import Item

COLUMN = re.compile(r"COL (\w+) VAL (.*?)(?= COL |$)")


def record(text: str, fields: Sequence[str]) -> dict[str, str]:
    found = {name: value.strip() for name, value in COLUMN.findall(text)}
    return {name: found.get(name, "") for name in fields} if found else {"text": text}


def is_tuning(row: dict[str, str]) -> bool:
    return blake2b((row["left"] + row["right"]).encode()).digest()[0] < 128


def f1(scores: Sequence[float], labels: Sequence[bool], threshold: float) -> dict[str, float]:
    said = np.array(scores) >= threshold
    right = np.array(labels)
    hits = int((said & right).sum())
    precision = hits / max(1, int(said.sum()))
    recall = hits / max(1, int(right.sum()))
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"f1": round(f1, 3), "precision": round(precision, 3), "recall": round(recall, 3)}


def best_threshold(scores: Sequence[float], labels: Sequence[bool]) -> float:
    return max((n / 100 for n in range(1, 100)), key=lambda t: f1(scores, labels, t)["f1"])


def by_shingles(texts: Sequence[str], pairs: Sequence[tuple[int, int]]) -> list[float]:
    sets = Shingles()(texts)
    return [float(sets.jaccard(a, [b])[0]) for a, b in pairs]


def by_words(texts: Sequence[str], pairs: Sequence[tuple[int, int]]) -> list[float]:
    index = WordIndex(Shingles("words", 1)(texts))
    return [index.similarity(a, b) for a, b in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--fields", default="title,manufacturer,price")
    parser.add_argument("--compare", default="title,manufacturer")
    parser.add_argument("--what", default="product")
    parser.add_argument("--model")
    parser.add_argument("--grey", default="0.4:0.8")
    parser.add_argument("--sample", type=int)
    options = parser.parse_args()

    rows = [json.loads(line) for line in options.pairs.read_text().splitlines()]
    labels = [str(row["label"]) == "1" for row in rows]
    records = [
        record(row[side], options.fields.split(",")) for row in rows for side in ("left", "right")
    ]
    compare = options.compare.split(",")
    normalise = Normalise()
    texts = [
        normalise(
            " ".join(value for name, value in one.items() if name in compare or name == "text")
        )
        for one in records
    ]
    different = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    pairs = [(different[texts[2 * n]], different[texts[2 * n + 1]]) for n in range(len(rows))]
    tuning = [n for n, row in enumerate(rows) if is_tuning(row)]
    told = [n for n, row in enumerate(rows) if not is_tuning(row)]

    def part(values: Sequence[float | bool], chosen: Sequence[int]) -> list[float]:
        return [values[n] for n in chosen]

    results: dict[str, list[float]] = {}
    for name, score in (("shingles", by_shingles), ("words", by_words)):
        scores = results[name] = score(list(different), pairs)
        threshold = best_threshold(part(scores, tuning), part(labels, tuning))
        report(f"rules, {name}", threshold, f1(part(scores, told), part(labels, told), threshold))
        report(
            f"rules, {name}, at the default",
            default := Matching(by=name).limit,
            f1(part(scores, told), part(labels, told), default),
        )
    if options.model:
        with_model(options, records, results["words"], labels, (tuning, told))


def asked(
    options: argparse.Namespace, records: list[dict[str, str]], grey: Sequence[int]
) -> dict[int, float]:
    """The model's probability that the records of each pair are the same thing."""
    task = Same(what=options.what)
    pairs = [(json_text(records[2 * n]), json_text(records[2 * n + 1])) for n in grey]
    items = [
        Item(id=str(n), text=a, columns={OTHER: b}) for n, (a, b) in zip(grey, pairs, strict=True)
    ]
    values = []
    with Engine(options.model) as engine:
        for _, outcome in answers(items, task, engine.backend):
            if isinstance(outcome, VedetteError):
                raise outcome
            values.append(outcome.value)
    return dict(zip(grey, probabilities(values), strict=True))


def order_right(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The share of (same, different) couples of pairs that the scores put in the right order."""
    same = [score for score, label in zip(scores, labels, strict=True) if label]
    other = [score for score, label in zip(scores, labels, strict=True) if not label]
    wins = sum((a > b) + (a == b) / 2 for a in same for b in other)
    return wins / max(1, len(same) * len(other))


def with_model(
    options: argparse.Namespace,
    records: list[dict[str, str]],
    scores: list[float],
    labels: list[bool],
    halves: tuple[list[int], list[int]],
) -> None:
    """Ask about the grey pairs; tune both thresholds on the first half, tell the second."""
    low, high = map(float, options.grey.split(":"))
    grey = [[n for n in half if low <= scores[n] < high] for half in halves]
    if options.sample is not None:
        chance = random.Random(0)
        grey = [chance.sample(half, min(options.sample, len(half))) for half in grey]
    chances = asked(options, records, [*grey[0], *grey[1]])
    right = [[labels[n] for n in half] for half in grey]
    print(f"grey pairs told: {len(grey[1])}, {sum(right[1])} of them the same")
    for name, found in (("rules", scores), ("model", chances)):
        tuned, told = ([found[n] for n in half] for half in grey)
        threshold = best_threshold(tuned, right[0])
        report(f"  {name} on these", threshold, f1(told, right[1], threshold))
        print(f"  {name}: {order_right(told, right[1]):.3f} in the right order")
        if name == "model" and options.sample is None:
            mixed = [
                float(chances[n] >= threshold if n in chances else scores[n] >= high)
                for n in halves[1]
            ]
            report("rules and model", threshold, f1(mixed, [labels[n] for n in halves[1]], 1.0))
    for threshold in (0.4, 0.5, 0.6, 0.7):
        everything = [chances[n] for half in grey for n in half]
        report("  model, both halves", threshold, f1(everything, [*right[0], *right[1]], threshold))


def report(name: str, threshold: float, found: dict[str, float]) -> None:
    print(
        f"{name:<34} threshold {threshold:.2f}  " + "  ".join(f"{k} {v}" for k, v in found.items())
    )


if __name__ == "__main__":
    main()
