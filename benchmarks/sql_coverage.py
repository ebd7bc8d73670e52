"""How many statements of a data set can vedette's SQL grammar say?

    python benchmarks/sql_coverage.py spider_dev.jsonl spider_tables.json [--show 10]

No model. Each gold statement is put into the spelling of the grammar (sql_spelling.py), without a
change to what it says, and held against the grammar of its database.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from kept import json_lines
from llguidance import LLMatcher
from sql_spelling import respelt
from sql_spider import build, described_in
from sqlglot.errors import SqlglotError

from vedette.engine.constraint.schema.grammar import byte_tokenizer
from vedette.errors import VedetteError
from vedette.tasks.sql.database import Database
from vedette.tasks.sql.grammar import grammar_of
from vedette.tasks.sql.reflect import read_schema
from vedette.tasks.sql.schema import Schema


def unsaid(start: LLMatcher, schema: Schema, query: str) -> str | None:
    """Where the grammar stops a statement; None if it can say it."""
    try:
        raw = respelt(query, schema).encode()
    except SqlglotError:
        return f"not parsed: {query}"
    matcher = start.deep_copy()
    taken = matcher.try_consume_tokens(list(raw))
    if taken == len(raw) and matcher.is_accepting():
        return None
    return f"{raw[:taken].decode(errors='replace')} >>> {raw[taken:].decode(errors='replace')}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--show", type=int, default=10, help="statements that cannot be said")
    args = parser.parse_args()
    try:
        described = described_in(args.tables)
        rows = json_lines(args.questions, "db_id", "query")
    except VedetteError as error:
        parser.error(str(error))
    known: dict[str, tuple[Schema, LLMatcher]] = {}
    stopped = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            name = row["db_id"]
            if name not in known:
                schema = read_schema(Database(str(build(Path(folder), described[name]))))
                grammar = str(LLMatcher.grammar_from_lark(grammar_of(schema)))
                known[name] = schema, LLMatcher(byte_tokenizer(), grammar, log_level=0)
            schema, start = known[name]
            place = unsaid(start, schema, row["query"])
            if place is not None:
                stopped.append(place)
    said = len(rows) - len(stopped)
    print(f"{said} of {len(rows)} statements can be said ({100 * said / len(rows):.1f}%)")
    for place in stopped[: args.show]:
        print(f"  {place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
