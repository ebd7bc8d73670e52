"""Pictures of receipts (SROIE) into a database: read by OCR, four fields each, none lost.

    python benchmarks/receipt_pictures.py IMAGES receipts.jsonl --into sqlite:///FILE?table=NAME \\
        [--model NAME] [--shots 2] [--workers 8] [--out FILE.jsonl]

IMAGES is the folder of the pictures, receipts.jsonl has their answers under the name of the
picture without its ending, and other rows, of which examples are taken. What is held to account:
every picture has its row in the table or in the table of errors, and every value is a span of what
was read off the picture. A field is right as `receipts.py` has it. Beside it stands the share of
fields whose annotated value is in what was read at all: no extraction can do better. With --out
the run can be begun again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import say, table
from kept import json_lines
from receipts import SCHEMA, plain, shown, spans_hold
from sqlalchemy import MetaData, Table, create_engine, select

from vedette.backends.local import LocalBackend
from vedette.batch import Job, progress_on, run
from vedette.batch.source import Source
from vedette.errors import InputError, VedetteError
from vedette.tables import open_store
from vedette.tasks.extract import Extract


def in_tables(store: Any) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """Rows of the table of answers by hash, and the hashes in the table of errors."""
    engine = create_engine(store.target.url)
    names = (store.target.table, f"{store.target.table}_errors")
    with engine.connect() as connection:
        answers, errors = (
            connection.execute(select(Table(name, MetaData(), autoload_with=engine)))
            .mappings()
            .all()
            for name in names
        )
    return {row["_sha256"]: dict(row) for row in answers}, {row["_sha256"] for row in errors}


def report(fields: dict[str, dict[str, str]], lines: list[dict[str, Any]], store: Any) -> str:
    """The figures. `fields` are the annotated ones by the name of the picture."""
    rows, errors = in_tables(store)
    by_name = {Path(line["id"]).stem: line for line in lines}
    hashes = {name: line["picture"]["sha256"] for name, line in by_name.items()}
    lost = [n for n in fields if n not in hashes or not {hashes[n]} & (rows.keys() | errors)]
    answered = [line for line in by_name.values() if line["ok"]]
    texts = {name: plain(line["picture"].get("text")) for name, line in by_name.items()}
    strays = sum(
        not spans_hold(line["value"], line.get("spans", {}), line["picture"]["text"])
        for line in answered
    )
    sure = [line["picture"]["confidence"] for line in answered if line["picture"]["confidence"]]
    told = [
        ("pictures", str(len(fields))),
        ("different ones", str(len(set(hashes.values())))),
        ("lost", str(len(lost))),
        ("rows in the table", str(len(rows))),
        ("errors", str(len(errors))),
        ("with a value that is no span of what was read", str(strays)),
        ("confidence of the reading, mean", f"{sum(sure) / max(1, len(sure)):.3f}"),
    ]
    for name in SCHEMA["properties"]:
        right = sum(
            plain(rows.get(hashes[one], {}).get(name)) == plain(wanted.get(name))
            for one, wanted in fields.items()
        )
        read = sum(plain(wanted.get(name)) in texts[one] for one, wanted in fields.items())
        told.append((f"{name} right", f"{right} ({100 * right / len(fields):.1f}%)"))
        told.append((f"{name} is in what was read", f"{read} ({100 * read / len(fields):.1f}%)"))
    return table(("what", "is"), told)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--into", required=True)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--shots", type=int, default=2, help="examples that the model is shown")
    parser.add_argument("--workers", type=int, help="rows under way at once")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    try:
        names = {path.stem for path in args.images.iterdir()}
        data = json_lines(args.data, "id", "text", "fields")
        fields = {row["id"]: row["fields"] for row in data if row["id"] in names}
        if missing := names - fields.keys():
            raise InputError(f"{args.data} has no answers for {', '.join(sorted(missing))}")
        examples = shown([row for row in data if row["id"] not in names], args.shots)
        store = open_store(args.into, SCHEMA)
        backend = LocalBackend(args.model)
        try:
            with tempfile.TemporaryDirectory() as folder:
                out = args.out or Path(folder) / "answers.jsonl"
                job = Job(
                    source=Source(paths=(str(args.images),)),
                    task=Extract(SCHEMA, examples=examples),
                    backend=backend,
                    out=str(out),
                    into=store,
                    workers=args.workers,
                )
                summary = run(job, progress_on(sys.stderr))
                lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        finally:
            backend.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    if summary.interrupted:
        say(summary.headline)
        return 130
    print(f"{args.model}, {args.shots} examples; {summary.as_text()}")
    print(report(fields, lines, store))
    return 0


if __name__ == "__main__":
    sys.exit(main())
