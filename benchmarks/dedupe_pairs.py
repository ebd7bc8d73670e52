"""F1 on labelled pairs: rules alone, and rules with a model in the grey band.

    python benchmarks/dedupe_pairs.py PAIRS.jsonl [--model NAME] [--grey 0.5:1] [--sample N] \\
        [--out FILE] [--seconds S]

A row is {"left": ..., "right": ..., "label": "0" or "1"}; records are written as
`COL title VAL ... COL manufacturer VAL ...` (as the ditto project writes them) or as any text. The
threshold is tuned on one half of the rows and told on the other; the halves are cut by a hash.
Without --model only the rules are measured. Grey pairs are asked about in an order by chance, the
same each time: --sample ends it after N of each half, --seconds after a time. Answers go to --out
as they come, and a run that is begun again takes them from there. The F1 of rules and model
together is that of all pairs; where only some grey pairs were asked, these stand for all of them.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
from kept import Kept

from vedette import Engine
from vedette.batch import answers
from vedette.batch.pairs import SAME_ABOVE
from vedette.errors import VedetteError
from vedette.json_text import json_text
from vedette.tasks.dedupe.amounts import agreement, amount_of
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


def f1(
    scores: Sequence[float],
    labels: Sequence[bool],
    threshold: float,
    weights: Sequence[float] | None = None,
) -> dict[str, float]:
    said = np.array(scores) >= threshold
    right = np.array(labels)
    weight = np.ones(len(said)) if weights is None else np.array(weights)
    hits = float(weight[said & right].sum())
    precision = hits / max(1e-9, float(weight[said].sum()))
    recall = hits / max(1e-9, float(weight[right].sum()))
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
    parser.add_argument("--amount", default="price")
    parser.add_argument("--what", default="product")
    parser.add_argument("--model")
    parser.add_argument("--grey", default="0.5:1")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf)
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
    amounts = [amount_of(one.get(options.amount)) for one in records]
    agreements = [agreement(amounts[2 * n], amounts[2 * n + 1]) for n in range(len(rows))]
    results["shingles"] = by_shingles(list(different), pairs)
    results["words"] = by_words(list(different), pairs)
    for name in ("shingles", "words"):
        both = zip(results[name], agreements, strict=True)
        results[f"{name} and amounts"] = [score * agreed for score, agreed in both]
    for name, scores in results.items():
        threshold = best_threshold(part(scores, tuning), part(labels, tuning))
        report(f"rules, {name}", threshold, f1(part(scores, told), part(labels, told), threshold))
        report(
            f"rules, {name}, at the default",
            default := Matching(by=name.split()[0]).limit,
            f1(part(scores, told), part(labels, told), default),
        )
    if options.model:
        with_model(options, records, results["words and amounts"], labels, (tuning, told))


def asked(
    options: argparse.Namespace, records: list[dict[str, str]], grey: Sequence[int]
) -> dict[int, float]:
    """The model's probability that the records of each pair are the same thing.

    In the order of `grey`, as far as `--seconds` go.
    """
    task = Same(what=options.what)
    begun = time.perf_counter()
    values: dict[int, list] = {}
    with Engine(options.model) as engine:
        about = {"benchmark": "dedupe_pairs", **engine.backend.identity, "task": task.identity}
        kept = Kept(options.out, about)

        def items() -> Iterator[Item]:
            for n in grey:
                known = kept.get(str(n))
                if known is not None:
                    values[n] = known["value"]
                elif time.perf_counter() - begun < options.seconds:
                    one, other = json_text(records[2 * n]), json_text(records[2 * n + 1])
                    yield Item(id=str(n), text=one, columns={OTHER: other})

        for item, outcome in answers(items(), task, engine.backend):
            if isinstance(outcome, VedetteError):
                raise outcome
            kept.add(item.id, {"value": outcome.value})
            values[int(item.id)] = outcome.value
    return dict(zip(values, probabilities([*values.values()]), strict=True))


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
    whole = [[n for n in half if low <= scores[n] < high] for half in halves]
    chance = random.Random(0)
    grey = [chance.sample(half, len(half))[: options.sample] for half in whole]
    turns = [n for n in chain(*zip_longest(*grey)) if n is not None]
    chances = asked(options, records, turns)
    grey = [[n for n in half if n in chances] for half in grey]
    right = [[labels[n] for n in half] for half in grey]
    for name, half, all_grey in zip(("tuned", "told"), grey, whole, strict=True):
        n_same = sum(labels[n] for n in half)
        print(f"grey pairs {name}: {len(half)} of {len(all_grey)}, {n_same} of them the same")
    if not all(grey):
        return
    for name, found in (("rules", scores), ("model", chances)):
        tuned, told = ([found[n] for n in half] for half in grey)
        threshold = best_threshold(tuned, right[0])
        report(f"  {name} on these", threshold, f1(told, right[1], threshold))
        print(f"  {name}: {order_right(told, right[1]):.3f} in the right order")
    for limit in (threshold, SAME_ABOVE):
        said = [
            float(chances[n] >= limit) if n in chances else float(scores[n] >= high)
            for n in halves[1]
        ]
        all_grey, share = set(whole[1]), len(whole[1]) / len(grey[1])
        weights = [(share if n in chances else 0.0) if n in all_grey else 1.0 for n in halves[1]]
        right_all = [labels[n] for n in halves[1]]
        report("rules and model, all pairs told", limit, f1(said, right_all, 1.0, weights))
    for limit in (0.4, 0.5, 0.6, 0.7):
        everything = [chances[n] for half in grey for n in half]
        report("  model, both halves", limit, f1(everything, [*right[0], *right[1]], limit))


def report(name: str, threshold: float, found: dict[str, float]) -> None:
    print(
        f"{name:<34} threshold {threshold:.2f}  " + "  ".join(f"{k} {v}" for k, v in found.items())
    )


if __name__ == "__main__":
    try:
        main()
    except VedetteError as error:
        sys.exit(f"error: {error}")
