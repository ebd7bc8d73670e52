"""Make an extraction job out of a loghub sample, for `vedette bench batch`.

    python benchmarks/loghub_job.py Linux.log Linux.structured.csv --rows 300 --out DIR

Reads a raw log and the parsed columns that loghub gives with it, and writes into DIR `lines.log`
(the first rows), `schema.json`, `examples.jsonl` (four rows from behind them, of different
components) and `expected.jsonl` (component, process id and content as loghub parsed them).
Loghub is for research use: keep what is made here out of products.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path

N_EXAMPLES = 4
SCHEMA = {
    "type": "object",
    "properties": {
        "component": {
            "type": ["string", "null"],
            "maxLength": 40,
            "x-verbatim": True,
            "description": "Program that wrote the line, with what stands in brackets after it.",
        },
        "pid": {
            "type": ["string", "null"],
            "maxLength": 10,
            "x-verbatim": True,
            "description": "Process id, null if none is stated.",
        },
        "message": {
            "type": ["string", "null"],
            "maxLength": 250,
            "x-verbatim": True,
            "description": "All that follows the first colon after the program.",
        },
    },
    "required": ["component", "pid", "message"],
    "additionalProperties": False,
}


def value_of(row: dict[str, str]) -> dict[str, str | None]:
    """What the answer for a row should be."""
    return {
        "component": row["Component"] or None,
        "pid": row["PID"].removesuffix(".0") or None,
        "message": row["Content"].strip() or None,
    }


def make_job(lines: list[str], rows: list[dict[str, str]], n_rows: int, out: Path) -> None:
    """Write the four files."""
    out.mkdir(parents=True, exist_ok=True)
    chosen: dict[str, str] = {}
    for line, row in zip(lines[n_rows:], rows[n_rows:], strict=True):
        shown = {"text": line.strip(), "value": value_of(row)}
        chosen.setdefault(row["Component"], json.dumps(shown, ensure_ascii=False))
    expected = (
        json.dumps({"id": str(number), "value": value_of(row)}, ensure_ascii=False)
        for number, row in enumerate(rows[:n_rows], 1)
    )
    (out / "lines.log").write_text("\n".join(lines[:n_rows]) + "\n")
    (out / "schema.json").write_text(json.dumps(SCHEMA, indent=2) + "\n")
    (out / "examples.jsonl").write_text("\n".join([*chosen.values()][:N_EXAMPLES]) + "\n")
    (out / "expected.jsonl").write_text("\n".join(expected) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path)
    parser.add_argument("structured", type=Path)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    try:
        lines = args.log.read_text(encoding="utf-8", errors="replace").splitlines()
        with args.structured.open(encoding="utf-8", newline="") as source:
            rows = [*csv.DictReader(source)]
    except OSError as error:
        parser.error(f"cannot read {error.filename}: {error.strerror}")
    except (UnicodeDecodeError, csv.Error) as error:
        parser.error(f"cannot read {args.structured}: {error}")
    missing = {"Component", "PID", "Content"} - {*(rows[0] if rows else ())}
    if missing:
        parser.error(f"{args.structured} has no column {sorted(missing)[0]!r}")
    if len(lines) != len(rows):
        parser.error(f"{len(lines)} lines and {len(rows)} parsed rows do not go together")
    if not 0 < args.rows < len(rows):
        parser.error(f"--rows is {args.rows}; it must be 1 to {len(rows) - 1}")
    try:
        make_job(lines, rows, args.rows, args.out)
    except OSError as error:
        parser.error(f"cannot write {error.filename}: {error.strerror}")
    print(f"{args.rows} rows in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
