"""Questions of Spider to SQL, under the grammar and free: does it run, and is it right?

    python benchmarks/sql_spider.py spider_dev.jsonl spider_tables.json \\
        [--model NAME] [--items 500] [--free] [--width 8] [--out answers.jsonl]

The databases are built from the tables file, empty, with types and keys. Each statement is
planned by SQLite (EXPLAIN); what it refuses for a name that does not exist is counted apart. A
statement is right if it is the gold one part by part: the items of the select list, the tables,
the conditions, what is grouped, ordered and limited by, without regard to their order, to aliases,
to capitals, and to how a column is qualified; literals are left out, as in Spider's exact set
match. Answers go to --out as they come, and a run that is begun again takes them from there.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from common import say, table
from kept import Kept, json_file, json_lines
from sqlglot import exp
from sqlglot.errors import SqlglotError

from vedette.backends.base import Handle
from vedette.backends.local import LocalBackend
from vedette.errors import InputError, VedetteError
from vedette.tasks.sql.database import Database
from vedette.tasks.sql.reflect import read_schema
from vedette.tasks.sql.task import AskDatabase
from vedette.types import Prompt, Request

SEED = 11
_STATEMENT = re.compile(r"select\b.*?(?=;|```|\Z)", re.IGNORECASE | re.DOTALL)
_UNKNOWN = re.compile(r"no such (table|column)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one question."""

    plans: bool
    unknown_name: bool
    right: bool


def described_in(path: Path) -> dict[str, dict]:
    """Spider's databases by name. Raises `InputError`."""
    entries = json_file(path)
    if not isinstance(entries, list) or not all("db_id" in entry for entry in entries):
        raise InputError(f"{path} is no list of databases")
    return {entry["db_id"]: entry for entry in entries}


def build(folder: Path, described: dict) -> Path:
    """An empty SQLite database with a Spider schema; types and keys as they are described."""
    path = folder / f"{described['db_id']}.sqlite"
    if path.exists():
        return path
    columns = described["column_names_original"]
    types = {"number": "NUMERIC"}
    lines: dict[int, list[str]] = {n: [] for n in range(len(described["table_names_original"]))}
    for (owner, name), kind in zip(columns, described["column_types"], strict=True):
        if owner >= 0:
            lines[owner].append(f"{_quoted(name)} {types.get(kind, 'TEXT')}")
    keys: dict[int, list[str]] = {}
    for group in described["primary_keys"]:
        for column in group if isinstance(group, list) else [group]:
            keys.setdefault(columns[column][0], []).append(columns[column][1])
    for owner, names in keys.items():
        lines[owner].append(f"PRIMARY KEY ({', '.join(map(_quoted, names))})")
    names = described["table_names_original"]
    for one, other in described["foreign_keys"]:
        (owner, name), (target, key) = columns[one], columns[other]
        lines[owner].append(
            f"FOREIGN KEY ({_quoted(name)}) REFERENCES {_quoted(names[target])} ({_quoted(key)})"
        )
    with sqlite3.connect(path) as connection:
        for number, name in enumerate(names):
            if name.startswith("sqlite_"):  # the system's own, which Spider lists with the others
                continue
            connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(lines[number])})")
    connection.close()
    return path


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def parts(statement: str) -> frozenset[tuple[str, str]]:
    """The parts of a statement that exact set match compares. Raises `SqlglotError`."""
    plain = statement.strip().removesuffix(";").replace('"', "'").replace("! =", "!=")
    found: set[tuple[str, str]] = set()
    for number, select in enumerate(_selects(sqlglot.parse_one(plain, dialect="sqlite"))):
        for part, text in _parts(select):
            found.add((f"{number} {part}", text))
    return frozenset(found)


def _selects(tree: exp.Expression) -> Iterator[exp.Select]:
    return tree.find_all(exp.Select, bfs=False)


def _parts(select: exp.Select) -> Iterator[tuple[str, str]]:
    yield "distinct", str(select.args.get("distinct") is not None)
    for item in select.expressions:
        yield "item", _plain(item)
    for node in select.find_all(exp.Table):
        if node.find_ancestor(exp.Select) is select:
            yield "table", node.name.lower()
    for name in ("where", "having"):
        clause = select.args.get(name)
        if clause is not None:
            for condition in clause.this.flatten() if _is_list(clause.this) else [clause.this]:
                yield name, _plain(condition)
    group = select.args.get("group")
    for key in group.expressions if group else []:
        yield "group", _plain(key)
    order = select.args.get("order")
    for key in order.expressions if order else []:
        yield "order", f"{_plain(key.this)} {bool(key.args.get('desc'))}"
    yield "limit", str(select.args.get("limit") is not None)


def _is_list(node: exp.Expression) -> bool:
    return isinstance(node, exp.And | exp.Or)


def _plain(node: exp.Expression) -> str:
    """The text of a part without tables, literals, aliases, what subqueries say and capitals."""
    copy = node.copy()
    if isinstance(copy, exp.Alias):
        copy = copy.this
    for inner in list(copy.find_all(exp.Subquery, exp.Select)):
        if inner.parent is not None:
            inner.replace(exp.Placeholder())
    for column in copy.find_all(exp.Column):
        column.set("table", None)
        column.this.set("quoted", False)
    for literal in list(copy.find_all(exp.Literal)):
        literal.replace(exp.Placeholder()) if literal.parent else None
    return copy.sql(dialect="sqlite").lower().replace("<>", "!=")


def verdict(database: Database, statement: str, gold: str) -> Verdict:
    """Plan the statement and hold it against the gold one."""
    reason = ""
    try:
        database.explain(statement)
    except VedetteError as error:
        reason = str(error)
    try:
        right = not reason and parts(statement) == parts(gold)
    except SqlglotError:
        right = False
    return Verdict(not reason, bool(_UNKNOWN.search(reason)), right)


class Asker:
    """Asks one model, under the grammar or free."""

    def __init__(self, backend: LocalBackend, described: dict[str, dict], folder: Path) -> None:
        self._backend = backend
        self._described = described
        self._folder = folder
        self._tasks: dict[str, AskDatabase] = {}

    def task(self, db_id: str) -> AskDatabase:
        """The task over a database."""
        if db_id not in self._tasks:
            database = Database(str(build(self._folder, self._described[db_id])))
            self._tasks[db_id] = AskDatabase(database, read_schema(database))
        return self._tasks[db_id]

    def submit(self, db_id: str, question: str, *, free: bool) -> Handle:
        """Ask for a statement."""
        request = self.task(db_id).request(question)
        if free:
            prompt = Prompt(messages=request.prompt.messages, shared_messages=1)
            request = Request(prompt=prompt, max_tokens=request.max_tokens)
        return self._backend.submit(request)


def statement_of(text: str) -> str:
    """The statement in an answer, which free ones wrap in words."""
    found = _STATEMENT.search(text)
    return " ".join((found.group() if found else text).split())


def run(args: argparse.Namespace, asker: Asker, rows: list[dict], kept: Kept) -> list[dict]:
    """Ask all questions that are not answered yet, `--width` at once; all answers, in order."""
    chosen = random.Random(SEED).sample(range(len(rows)), min(args.items, len(rows)))
    chosen.sort(key=lambda n: (rows[n]["db_id"], n))
    answers: list[dict] = []
    for free in [False, True] if args.free else [False]:
        ask_all(args.width, asker, [(n, rows[n]) for n in chosen], free, kept)
        for number in chosen:
            row, answer = rows[number], kept.get(key_of(number, free))
            assert answer is not None
            database = asker.task(row["db_id"]).database
            judged = verdict(database, answer["sql"], row["query"])
            answers.append({**answer, "free": free, "verdict": judged})
    return answers


def key_of(number: int, free: bool) -> str:
    """What an answer is kept by."""
    return f"{number} {'free' if free else 'grammar'}"


def ask_all(width: int, asker: Asker, rows: list[tuple[int, dict]], free: bool, kept: Kept) -> None:
    """Keep an answer to each row; its seconds are its share of the time they took together."""
    waiting: deque[tuple[str, Handle]] = deque()
    begun = time.perf_counter()

    def finish_one() -> None:
        nonlocal begun
        key, handle = waiting.popleft()
        done = handle.result()
        now = time.perf_counter()
        tokens = done.usage.completion_tokens
        kept.add(key, {"sql": statement_of(done.text), "tokens": tokens, "s": now - begun})
        begun = now

    for count, (number, row) in enumerate(rows, 1):
        key = key_of(number, free)
        if kept.get(key) is None:
            waiting.append((key, asker.submit(row["db_id"], row["question"], free=free)))
        if len(waiting) == width:
            finish_one()
        if count % 25 == 0:
            say(f"{count} of {len(rows)} questions")
    while waiting:
        finish_one()


def report(answers: list[dict]) -> str:
    """A line for each way of asking."""
    lines = []
    for free in sorted({answer["free"] for answer in answers}):
        mine = [answer for answer in answers if answer["free"] == free]
        verdicts = [answer["verdict"] for answer in mine]
        n = len(mine)
        lines.append(
            (
                "free" if free else "grammar",
                str(n),
                f"{100 * sum(v.plans for v in verdicts) / n:.1f}%",
                str(sum(v.unknown_name for v in verdicts)),
                f"{100 * sum(v.right for v in verdicts) / n:.1f}%",
                f"{sum(answer['tokens'] for answer in mine) / n:.1f}",
                f"{sum(answer['s'] for answer in mine) / n:.2f}",
            )
        )
    head = ("asked", "questions", "planned", "unknown names", "right", "tokens each", "s each")
    return table(head, lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--free", action="store_true", help="ask without the grammar as well")
    parser.add_argument("--width", type=int, default=8, help="questions at once")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for name in ("items", "width"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; it must be at least 1")
    try:
        rows = json_lines(args.questions, "db_id", "question", "query")
        described = described_in(args.tables)
        kept = Kept(args.out, {"benchmark": "sql_spider", "model": args.model})
        backend = LocalBackend(args.model)
        try:
            with tempfile.TemporaryDirectory() as folder:
                answers = run(args, Asker(backend, described, Path(folder)), rows, kept)
        finally:
            backend.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    print(f"{args.model}, {args.width} questions at once")
    print(report(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
