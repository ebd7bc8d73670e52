"""Commit messages for the commits of a repository's own history, read as if they were staged.

    python benchmarks/commit_history.py [--repository DIR] [--model NAME] [--commits 50] \\
        [--sample N] [--body auto] [--types FILE.tsv] [--out FILE.jsonl] [--seconds S]

What is held to account: every header is valid (type, 72 characters, no full stop), and no message
has a file name that its diff does not have; this is checked here by the suffixes of the
repository's own files, apart from the check that the task makes. Reported besides: how often the
type is one of those that a person gave (commit_types.tsv has them by subject; a conventional
subject has its own), lengths, what was shortened or asked again, tokens and seconds. Whether a
line is a good one must be read: both subjects are printed. Exit 1 if a promise is broken.

Messages go to --out as they come, and a run that is begun again takes them from there. --seconds is
how long may be asked; then what there is is reported, and the same command goes on.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any, cast

from common import say, table
from kept import Kept

from vedette.backends.local import LocalBackend, fetch, options_of
from vedette.batch.single import answer_item
from vedette.config import load
from vedette.errors import VedetteError
from vedette.git.repository import Commit, Repository, Span
from vedette.tasks.commit.change_types import default_types
from vedette.tasks.commit.header import header_fault, parse_header
from vedette.tasks.commit.message import WriteCommit
from vedette.types import Item

TYPES_FILE = Path(__file__).with_name("commit_types.tsv")
NAMES = tuple(label.name for label in default_types())


def file_names(text: str, diff: str) -> list[str]:
    """Words of a message that end like the files of its diff and are not in it."""
    suffixes = set(re.findall(r"^(?:---|\+\+\+|rename \w+) .*\.(\w+)\s*$", diff, re.MULTILINE))
    suffixes |= {"py", "md", "toml", "json", "js", "ts", "go", "rs", "c", "h", "txt", "yml", "yaml"}
    pattern = rf"[\w./-]*\w\.(?:{'|'.join(sorted(suffixes))})\b"
    return [name for name in re.findall(pattern, text) if name.lower() not in diff.lower()]


def known_types(path: Path) -> dict[str, list[str]]:
    """Types by subject, as a person gave them."""
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip())
    return {subject: types.split() for subject, types in rows}


def right_types(commit: Commit, known: dict[str, list[str]]) -> list[str]:
    """The types that would be right; none where nobody said."""
    header = parse_header(commit.subject)
    if header is not None and header.type in NAMES:
        return [header.type]
    return known.get(commit.subject, [])


def measure(
    commits: list[Commit],
    repository: Repository,
    task: WriteCommit,
    backend: LocalBackend,
    kept: Kept,
    seconds: float,
) -> list[dict[str, Any]]:
    """One row for each commit that has a message, or gets one in time."""
    rows = []
    begun = time.perf_counter()
    for commit in commits:
        diff = repository.of_commit(commit.hash)
        if not diff.strip():
            say(f"{commit.hash[:7]} has no diff")
            continue
        row = kept.get(commit.hash)
        if row is None:
            if time.perf_counter() - begun > seconds:
                continue
            row = worded(commit, diff, task, backend)
            kept.add(commit.hash, row)
        rows.append(row)
        say(f"{commit.hash[:7]} {commit.subject}")
        say("".join(f"    {line}\n" for line in row["message"].splitlines()).rstrip("\n"))
        for change in row["changes"]:
            say(f"        ({change})")
    return rows


def worded(commit: Commit, diff: str, task: WriteCommit, backend: LocalBackend) -> dict[str, Any]:
    """The message for one commit, and what is held against it."""
    start = time.perf_counter()
    answer = answer_item(task, Item(id=commit.hash, text=diff), backend)
    value = cast(dict[str, Any], answer.value)
    return {
        "commit": commit.hash,
        "own_subject": commit.subject,
        **value,
        "fault": header_fault(value["header"], NAMES),
        "invented": file_names(value["message"], diff),
        "seconds": round(time.perf_counter() - start, 1),
        "prompt_tokens": answer.usage.prompt_tokens,
        "cached_tokens": answer.usage.cached_tokens,
    }


def report(rows: list[dict[str, Any]], known: dict[str, list[str]]) -> str:
    """The table of what was measured."""
    judged = [(row, right_types(Commit("", row["own_subject"], ""), known)) for row in rows]
    judged = [(row, types) for row, types in judged if types]
    agreed = sum(row["type"] in types for row, types in judged)
    scored = [(row, types) for row, types in judged if row["type_by"] == "score"]
    lengths = [len(row["header"]) for row in rows]
    lines = [
        ("commits", str(len(rows))),
        ("valid headers", str(sum(row["fault"] is None for row in rows))),
        ("messages with an invented file name", str(sum(bool(r["invented"]) for r in rows))),
        ("type as a person gave it", f"{agreed} of {len(judged)}"),
        (
            "the same where it was scored",
            f"{sum(row['type'] in types for row, types in scored)} of {len(scored)}",
        ),
        ("header, characters: median, most", f"{statistics.median(lengths):.0f}, {max(lengths)}"),
        ("with a body", str(sum(bool(row["body"]) for row in rows))),
        ("with lines asked again", str(sum("again" in " ".join(r["changes"]) for r in rows))),
        ("seconds: median, most", _median_most([row["seconds"] for row in rows])),
        ("prompt tokens: median, most", _median_most([row["prompt_tokens"] for row in rows])),
    ]
    return table(("what", "value"), lines)


def _median_most(values: list[float]) -> str:
    return f"{statistics.median(values):.0f}, {max(values):.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repository", default=".")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--commits", type=int, default=50, help="the last so many")
    parser.add_argument("--sample", type=int, help="of these, so many at equal distances")
    parser.add_argument("--body", choices=("auto", "none", "bullets"), default="auto")
    parser.add_argument("--types", type=Path, default=TYPES_FILE)
    parser.add_argument("--out", type=Path, help="keep a row for each commit")
    parser.add_argument("--seconds", type=float, default=math.inf)
    args = parser.parse_args()
    repository = Repository(args.repository)
    commits, _ = repository.commits(Span(None, repository.commit_hash("HEAD")))
    chosen = list(commits[: args.commits])
    if args.sample:
        step = max(1, len(chosen) // args.sample)
        chosen = chosen[::step][: args.sample]
    settings = load(model=args.model, threads=args.threads)
    fetch(settings)
    task = WriteCommit(body=args.body)
    backend = LocalBackend(settings.model, options_of(settings))
    try:
        about = {"benchmark": "commit_history", **backend.identity, "task": task.identity}
        kept = Kept(args.out, about)
        rows = measure(chosen, repository, task, backend, kept, args.seconds)
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    finally:
        backend.close()
    if not rows:
        print("no message yet")
        return 0
    print(report(rows, known_types(args.types)))
    return int(any(row["fault"] or row["invented"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
