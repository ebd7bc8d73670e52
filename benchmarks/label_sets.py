"""How often labels are right on public sets, zero-shot or with a few examples a label.

    python benchmarks/label_sets.py FOLDER [--model NAME] [--sets a,b] [--rows N] [--out FILE]

FOLDER has the sets as JSONL files of {"text", "label"} under the names in `SETS`. Examples are
drawn with a fixed seed from the set's training file, or from the file itself, whose other rows
are then asked. `--rows` takes that many at random, always the same (with those out of scope in
full, where a set has some). A set's line goes to --out when it is done; a run that is begun again
takes it from there.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import print_report, say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.evaluate.report import Report
from vedette.evaluate.run import evaluate_classify
from vedette.tasks.classifier import classifier
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label
from vedette.types import Item

SEED = 0


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Rows, where their examples come from, and how many of these each label gets."""

    rows: str
    examples: str = ""
    per_label: int = 0
    out_of_scope: str = ""


SETS = {
    "sst2": LabelSet("sst2.dev.jsonl", "sst2.train.jsonl", 5),
    "trec6": LabelSet("trec6.train.jsonl", per_label=5),
    "ag_news": LabelSet("ag_news.jsonl", per_label=1),
    "eprstmt": LabelSet("zh_eprstmt.dev.jsonl"),
    "banking77": LabelSet("banking77.test.jsonl", "banking77.train.jsonl", 5),
    "clinc150": LabelSet("clinc150.val.jsonl", "clinc150.train.jsonl", 5, "clinc150.oos_val.jsonl"),
}
OUT_OF_SCOPE = "oos"


def read(path: Path) -> list[tuple[str, str]]:
    """The rows of a file: text and label."""
    return [(row["text"], row["label"]) for row in json_lines(path, "text", "label")]


def drawn(rows: list[tuple[str, str]], per_label: int) -> list[tuple[str, str]]:
    """`per_label` rows of each label, in an order of chance."""
    rng = random.Random(SEED)
    by_label: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        by_label.setdefault(row[1], []).append(row)
    chosen = [row for label in sorted(by_label) for row in rng.sample(by_label[label], per_label)]
    rng.shuffle(chosen)
    return chosen


def evaluated(one: LabelSet, folder: Path, backend: LocalBackend, most: int | None) -> Report:
    """The report over one set."""
    rows = read(folder / one.rows)
    examples = drawn(read(folder / one.examples) if one.examples else rows, one.per_label)
    rows = [row for row in rows if row not in set(examples)]
    rows = random.Random(SEED).sample(rows, min(len(rows), most or len(rows)))
    if one.out_of_scope:
        rows += [(text, OUT_OF_SCOPE) for text, _ in read(folder / one.out_of_scope)]
        random.Random(SEED).shuffle(rows)
    labels = sorted({label for _, label in [*rows, *examples]} - {OUT_OF_SCOPE})
    task = classifier(
        tuple(Label(name) for name in labels),
        tuple(LabelledText(text, (label,)) for text, label in examples),
        out_of_scope=OUT_OF_SCOPE if one.out_of_scope else "",
    )
    items = [Item(id=str(i), text=text) for i, (text, _) in enumerate(rows)]
    right = [label for _, label in rows]
    return evaluate_classify(task, items, right, backend, model=backend.name, data=one.rows)


def figures(one: LabelSet, report: Report) -> dict[str, Any]:
    """What is told of one set. In scope, an answer 'out of scope' is a wrong one."""
    inside = [v for v in report.verdicts if v.right != OUT_OF_SCOPE]
    outside = [v for v in report.verdicts if v.right == OUT_OF_SCOPE]
    body = report.as_dict()
    return {
        "rows": len(inside),
        "right": _share(v.is_right for v in inside),
        "ece": body["ece"],
        "outside": len(outside),
        "found": _share(v.is_right for v in outside) if outside else None,
        "lost": _share(v.answer == OUT_OF_SCOPE for v in inside),
        "rows_per_s": body["items_per_s"],
    }


def _share(found: Iterable[bool]) -> float:
    values = [*found]
    return sum(values) / len(values)


def measure(args: argparse.Namespace, names: list[str]) -> dict[str, dict[str, Any]]:
    """The figures of each set by name."""
    kept = Kept(args.out, {"model": args.model, "rows": args.rows, "seed": SEED})
    found: dict[str, dict[str, Any]] = {}
    backend = LocalBackend(args.model)
    try:
        for name in names:
            known = kept.get(name)
            if known is None:
                report = evaluated(SETS[name], args.folder, backend, args.rows)
                kept.add(name, known := figures(SETS[name], report))
            found[name] = known
            say(f"{name}: {known['right']:.1%} right")
    finally:
        backend.close()
    return found


def report_of(found: dict[str, dict[str, Any]]) -> str:
    """The table."""
    head = (
        "set",
        "examples a label",
        "rows",
        "right",
        "ECE",
        "out of scope found",
        "in scope lost",
    )
    rows = []
    for name, one in found.items():
        outside = one["found"] is not None
        rows.append(
            (
                name,
                str(SETS[name].per_label),
                str(one["rows"]),
                f"{one['right']:.1%}",
                f"{one['ece']:.3f}",
                f"{one['found']:.1%} of {one['outside']}" if outside else "",
                f"{one['lost']:.1%}" if outside else "",
            )
        )
    return table(head, rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    names = args.sets.split(",")
    if unknown := [name for name in names if name not in SETS]:
        parser.error(f"there is no set {unknown[0]}; the sets are {', '.join(SETS)}")
    if args.rows is not None and args.rows < 1:
        parser.error(f"--rows is {args.rows}; it must be at least 1")
    return print_report(lambda: report_of(measure(args, names)))


if __name__ == "__main__":
    sys.exit(main())
