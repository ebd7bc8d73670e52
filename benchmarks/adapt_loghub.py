"""What `vedette adapt` makes of a small model on logs, from loghub's samples.

    python benchmarks/adapt_loghub.py FOLDER --work DIR

FOLDER has `NAME.log` and `NAME.structured.csv` of loghub for each of `LOGS`. 600 lines, as many of
each log, become labelled rows: level, component and message as loghub parsed them. `vedette adapt
extract` trains on a part and measures on the rest; beside that the plain model is measured on the
same held-back rows with example rows, which is what one would do without training. Loghub is for
research use: keep what is made here out of products.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import time
from contextlib import closing
from pathlib import Path

from common import print_report, say, table

from vedette.adapt.report import Report
from vedette.adapt.run import adapt
from vedette.adapt.split import split_rows
from vedette.adapt.subjects import Extracted, Marks
from vedette.adapt.trainer import Options
from vedette.backends.local import LocalBackend, options_of
from vedette.batch.source import Source
from vedette.config import load
from vedette.evaluate.calibrate_extract import values_of
from vedette.evaluate.rows import labelled_rows, shuffled
from vedette.tasks.extract import Example, Extract

LOGS = ("Apache", "HDFS", "Hadoop", "Linux")
N_EXAMPLES = 8
HOLD_BACK = 0.2
MOST_CHARS = 250
SCHEMA = {
    "type": "object",
    "properties": {
        "level": {
            "type": ["string", "null"],
            "maxLength": 10,
            "x-verbatim": True,
            "description": "Severity as the line has it, null if none is stated.",
        },
        "component": {
            "type": ["string", "null"],
            "maxLength": 80,
            "x-verbatim": True,
            "description": "Program or class that wrote the line, null if none is named.",
        },
        "message": {
            "type": ["string", "null"],
            "maxLength": MOST_CHARS,
            "x-verbatim": True,
            "description": "What happened: the line without time, level, names and process ids.",
        },
    },
    "required": ["level", "component", "message"],
    "additionalProperties": False,
}


def value_of(log: str, row: dict[str, str]) -> dict[str, str | None]:
    """What the answer for a parsed row should be. Linux lines state no level."""
    return {
        "level": None if log == "Linux" else row["Level"] or None,
        "component": row.get("Component") or None,
        "message": whole_words(row["Content"].strip()) or None,
    }


def whole_words(text: str) -> str:
    """The words that fit into a message."""
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS + 1].rpartition(" ")[0].rstrip()


def rows_of(folder: Path, n_rows: int, seed: int) -> list[dict[str, object]]:
    """As many rows of each log, at random."""
    found = []
    for log in LOGS:
        lines = (folder / f"{log}.log").read_text("utf-8", "replace").splitlines()
        with (folder / f"{log}.structured.csv").open(encoding="utf-8", newline="") as source:
            parsed = [*csv.DictReader(source)]
        rows = [
            {"text": line.strip(), "value": value_of(log, row)}
            for line, row in zip(lines, parsed, strict=True)
        ]
        found += random.Random(seed).sample(rows, n_rows // len(LOGS))
    return found


def with_examples(subject: Extracted, model: str) -> tuple[Marks, float]:
    """The plain model shown rows that are not held back, on those that are."""
    split = split_rows([item.text for item in subject.items], HOLD_BACK)
    shown = [
        Example(subject.items[number].text, subject.right[number])
        for number in split.training[:N_EXAMPLES]
    ]
    task = Extract(schema=SCHEMA, examples=tuple(shown))
    asked = Extracted(task=task, items=subject.items, right=subject.right)
    started = time.perf_counter()
    with closing(LocalBackend(model, options_of(load()))) as backend:
        marks = asked.marks(
            split.held_back, backend, is_adapted=False, tell=lambda done, total: None
        )
    return marks, time.perf_counter() - started


def measured(args: argparse.Namespace) -> str:
    args.work.mkdir(parents=True, exist_ok=True)
    data = args.work / "rows.jsonl"
    rows = rows_of(args.folder, args.rows, args.seed)
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    task = Extract(schema=SCHEMA, prompt_schema=False)
    items = shuffled(labelled_rows(Source(paths=(str(data),), columns=("value",))), args.seed)
    subject = Extracted(task=task, items=items, right=values_of(items, "value", task))
    settings = load()
    options = Options(
        epochs=args.epochs,
        learning_rate=args.learning_rate,
        max_minutes=args.max_minutes,
        seed=args.seed,
        threads=settings.thread_count,
    )
    started = time.perf_counter()
    report = adapt(
        subject,
        args.model,
        data,
        args.work / "logs.gguf",
        lambda: LocalBackend(args.model, options_of(settings)),
        options,
        hold_back=HOLD_BACK,
        tell=say,
    )
    seconds = time.perf_counter() - started
    return told(report, *with_examples(subject, args.model), seconds)


def told(report: Report, shown: Marks, shown_seconds: float, seconds: float) -> str:
    """The figures side by side."""
    runs = {
        "plain, schema in the prompt": (report.verdict.before, report.seconds["before"]),
        f"plain, and {N_EXAMPLES} example rows": (shown, shown_seconds),
        "adapted, without the schema": (report.verdict.after, report.seconds["after"]),
    }
    names = [*report.verdict.before.parts]
    lines = [
        [
            name,
            f"{marks.accuracy:.1%}",
            *(f"{marks.parts[part]:.1%}" for part in names),
            f"{len(marks.right) / taken:.2f}",
        ]
        for name, (marks, taken) in runs.items()
    ]
    rows = report.as_dict()["rows"]
    phases = ", ".join(f"{name} {value:.0f} s" for name, value in report.seconds.items())
    return "\n".join(
        [
            table(["right", "all", *names, "rows/s"], lines),
            f"{report.verdict.sentence}.",
            f"rows: {json.dumps(rows)}",
            f"{seconds / 60:.1f} minutes in all ({phases})",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=Options().epochs)
    parser.add_argument("--learning-rate", type=float, default=Options().learning_rate)
    parser.add_argument("--max-minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    missing = [log for log in LOGS if not (args.folder / f"{log}.log").is_file()]
    if missing:
        parser.error(f"{args.folder} has no {missing[0]}.log")
    return print_report(lambda: measured(args), kept_in=None)


if __name__ == "__main__":
    sys.exit(main())
