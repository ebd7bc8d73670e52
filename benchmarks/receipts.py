"""Company, date, address and total out of scanned receipts (SROIE), each a span of the text.

    python benchmarks/receipts.py receipts.jsonl [--model NAME] [--items 100] [--shots 2] \\
        [--out FILE.jsonl]

Rows are {"id", "text", "fields": {"company", "date", "address", "total"}}. What is held to
account: every document has an answer or an explicit error (none is lost), every object is valid
against the schema, every value is a span of its text at the offsets that are given. A field is
right if it is the annotated one, without regard to capitals, spaces and punctuation (scans break
lines and words where annotators did not). The examples that the model is shown (--shots) are short
rows from behind those that are asked, with the annotated values as their text has them. Runs as a
batch with a journal beside --out, so that a run which is begun again goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsonschema_rs
from common import say, table
from kept import json_lines

from vedette.backends.local import LocalBackend
from vedette.batch import Job, run
from vedette.batch.source import Source
from vedette.errors import InputError, VedetteError
from vedette.tasks.extract import Example, Extract

MOST_SHOWN = 800
_ABOUT = {
    "company": "Name of the shop or company, at the top of the receipt.",
    "date": "Date of the purchase, as it stands.",
    "address": "Address of the shop: street, postcode and town, all its lines.",
    "total": "Total that was paid, rounded if it was, without currency.",
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {
            "type": ["string", "null"],
            "x-verbatim": True,
            "maxLength": 160 if name == "address" else 60,
            "description": about,
        }
        for name, about in _ABOUT.items()
    },
    "required": [*_ABOUT],
    "additionalProperties": False,
}


def plain(text: str | None) -> str:
    """A value without what scans and annotators differ in."""
    return re.sub(r"[^a-z0-9]", "", (text or "").lower())


def shown(rows: list[dict[str, Any]], n: int) -> tuple[Example, ...]:
    """The first `n` rows that can be examples: short, no field without its span, no currency."""
    found = []
    for row in rows:
        value = {name: span_of(row["fields"].get(name), row["text"]) for name in _ABOUT}
        is_plain = all(value.values()) and plain(value["total"]).isdigit()
        if is_plain and len(row["text"]) <= MOST_SHOWN and len(found) < n:
            found.append(Example(row["text"], value))
    return tuple(found)


def span_of(value: str | None, text: str) -> str | None:
    """Where the text says an annotated value, other breaks and punctuation between."""
    letters = [re.escape(letter) for letter in plain(value)]
    place = re.search(r"[^a-z0-9]*".join(letters), text, re.IGNORECASE) if letters else None
    return place.group() if place else None


def spans_hold(value: dict[str, Any], spans: dict[str, Any], text: str) -> bool:
    """Whether each value is in the text at the place that is given for it."""
    for name, part in value.items():
        if part is None:
            continue
        places = spans.get(f"/{name}", spans.get(name))
        if not places:
            return False
        start, end = places[0] if isinstance(places[0], list) else places
        if text[start:end] != part:
            return False
    return True


def report(rows: list[dict[str, Any]], answers: list[dict[str, Any]]) -> str:
    """The figures."""
    by_id = {answer["id"]: answer for answer in answers}
    validator = jsonschema_rs.validator_for(SCHEMA)
    lost = [row["id"] for row in rows if row["id"] not in by_id]
    errors = [answer for answer in answers if not answer["ok"]]
    values = {answer["id"]: answer["value"] for answer in answers if answer["ok"]}
    invalid = sum(not validator.is_valid(value) for value in values.values())
    strays = sum(
        not spans_hold(values[row["id"]], by_id[row["id"]].get("spans", {}), row["text"])
        for row in rows
        if row["id"] in values
    )
    lines = [
        ("documents", str(len(rows))),
        ("lost", str(len(lost))),
        ("errors", str(len(errors))),
        ("invalid objects", str(invalid)),
        ("with a value that is no span of its text", str(strays)),
    ]
    for name in _ABOUT:
        right = sum(
            plain(values.get(row["id"], {}).get(name)) == plain(row["fields"].get(name))
            for row in rows
        )
        lines.append((f"{name} right", f"{100 * right / len(rows):.1f}%"))
    return table(("what", "is"), lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--shots", type=int, default=2, help="examples that the model is shown")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.items < 1 or args.shots < 0:
        parser.error("--items must be at least 1 and --shots at least 0")
    try:
        data = json_lines(args.data, "id", "text", "fields")
        rows, examples = data[: args.items], shown(data[args.items :], args.shots)
        if len(examples) < args.shots:
            raise InputError(f"{args.data} has no {args.shots} examples behind {args.items} rows")
        backend = LocalBackend(args.model)
        try:
            with tempfile.TemporaryDirectory() as folder:
                out = args.out or Path(folder) / "answers.jsonl"
                job = Job(
                    source=Source(paths=(str(args.data),), limit=args.items),
                    task=Extract(SCHEMA, examples=examples),
                    backend=backend,
                    out=str(out),
                )
                summary = run(job)
                answers = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        finally:
            backend.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    if summary.interrupted:
        say(summary.headline)
        return 130
    print(f"{args.model}, {args.shots} examples; {summary.headline}")
    print(report(rows, answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
