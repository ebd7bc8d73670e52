"""The official JSON Schema test suite through the public matcher: no model is needed.

    python benchmarks/schema_suite.py DIRECTORY [--draft draft7] [--strict] [--why] [--json]

DIRECTORY is a checkout of JSON-Schema-Test-Suite; its `remotes` are the named files. Every
instance is written compactly, its members in the order that the grammar declares; that order,
and numbers without exponent, are what decoding under a grammar gives up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vedette.engine.constraint.schema import SchemaMatcher, SchemaRefused
from vedette.errors import VedetteError
from vedette.types import Json

REMOTE_BASE = "http://localhost:1234/"
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
RIGHT, WRONGLY_ACCEPTED, WRONGLY_REJECTED, REFUSED, FAILED = (
    *("right", "wrongly accepted", "wrongly rejected", "refused", "failed"),
)
OUTCOMES = (RIGHT, WRONGLY_ACCEPTED, WRONGLY_REJECTED, REFUSED, FAILED)


@dataclass(slots=True)
class Tally:
    """What became of the tests of one file, and a line for each that is not right."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


def remotes(suite: Path) -> dict[str, Json]:
    """Every file of `remotes` under the URI that the suite gives it."""
    root = suite / "remotes"
    return {
        REMOTE_BASE + path.relative_to(root).as_posix(): json.loads(path.read_text("utf-8"))
        for path in sorted(root.rglob("*.json"))
    }


def dated(schema: Json, draft: str) -> Json:
    """The schema with the draft under which it stands."""
    return {"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) else schema


def run(path: Path, draft: str, files: dict[str, Json], *, strict: bool, formats: bool) -> Tally:
    """All tests of one file."""
    tally = Tally(path.stem)
    for group in json.loads(path.read_text("utf-8")):
        tests = group["tests"]
        try:
            schema = dated(group["schema"], draft)
            matcher = SchemaMatcher(schema, files=files, strict=strict, formats=formats)
        except SchemaRefused as refusal:
            tally.counts[REFUSED] += len(tests)
            tally.lines.append(f"{REFUSED} ({len(tests)}): {group['description']}: {refusal}")
            continue
        for test in tests:
            outcome, note = judged(matcher, test["data"], test["valid"])
            tally.counts[outcome] += 1
            if outcome != RIGHT:
                where = f"{group['description']} / {test['description']}"
                tally.lines.append(f"{outcome}: {where}{note}")
    return tally


def judged(matcher: SchemaMatcher, value: Json, valid: bool) -> tuple[str, str]:
    """The outcome of one test, and the error if that is what came."""
    try:
        accepted = matcher.accepts(value)
    except VedetteError as error:
        return FAILED, f": {error}"
    if accepted == valid:
        return RIGHT, ""
    return (WRONGLY_ACCEPTED if accepted else WRONGLY_REJECTED), ""


def table(tallies: list[Tally]) -> Iterator[str]:
    """The outcomes, a line per file, and their sums."""
    yield f"{'keyword file':32}" + "".join(f"{outcome:>18}" for outcome in OUTCOMES)
    total = Tally("all", sum((tally.counts for tally in tallies), Counter()))
    for tally in (*tallies, total):
        yield f"{tally.name:32}" + "".join(f"{tally.counts[o]:>18}" for o in OUTCOMES)


def main() -> int:
    """Run the suite; 1 if an invalid instance was accepted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--draft", choices=sorted(DRAFTS), default="draft2020-12")
    parser.add_argument("--only", help="one keyword file, without .json")
    parser.add_argument("--strict", action="store_true", help="refuse what is only checked after")
    parser.add_argument("--formats", action="store_true", help="let format assert")
    parser.add_argument("--why", action="store_true", help="list every test that is not right")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    files = remotes(args.directory)
    started = time.process_time()
    paths = sorted((args.directory / "tests" / args.draft).glob("*.json"))
    tallies = [
        run(path, args.draft, files, strict=args.strict, formats=args.formats)
        for path in paths
        if args.only in (None, path.stem)
    ]
    if not tallies:
        print(f"no tests for {args.only or args.draft} in {args.directory}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({t.name: {"counts": t.counts, "notes": t.lines} for t in tallies}))
    else:
        print("\n".join(table(tallies)))
        if args.why:
            print("\n".join(f"{t.name}: {line}" for t in tallies for line in t.lines))
        print(f"{time.process_time() - started:.1f} s of processor time", file=sys.stderr)
    return int(any(tally.counts[WRONGLY_ACCEPTED] for tally in tallies))


if __name__ == "__main__":
    raise SystemExit(main())
