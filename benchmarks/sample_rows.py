"""Distinct rows of log text for the benchmarks, made from `examples/app.log` alone.

python benchmarks/sample_rows.py --items 500 --seed 7 > rows.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LOG = Path(__file__).resolve().parent.parent / "examples" / "app.log"
LONGEST_CHARS = 2_000
"""The log's one line of 20 KB stays out: where work is counted in rows, rows must be alike."""

_HEX_ID = re.compile(r"(?<![0-9A-Za-z])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{4,}(?![0-9A-Za-z])")
_NUMBER = re.compile(r"[0-9]+")
_TIME = re.compile(  # stays as it is: a row with month 46 would be no log line
    r"([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ]?|[0-9]{2}[/ ](?=[A-Z][a-z]{2}[/ ])"
    r"|[A-Z][a-z]{2} [0-9]{2} |/[0-9]{4}:|[0-9]{2}:[0-9]{2}:[0-9]{2}|[+-][0-9]{2}:?[0-9]{2}\b)"
)
_WORDS = {
    "checkout": ("basket", "till", "order-desk"),
    "payment-gateway": ("billing-gateway", "card-terminal"),
    "cart": ("basket", "wishlist"),
    "shipping": ("dispatch", "courier-desk"),
    "inventory": ("stock", "depot"),
    "recommender": ("suggestions", "ranker"),
    "pricing": ("tariffs", "discounts"),
    "failed": ("gave up", "was refused"),
    "finished": ("completed", "came to an end"),
    "started": ("began", "was launched"),
    "timeout": ("deadline exceeded", "no answer in time"),
    "connection": ("session", "link"),
}
_WORD = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in _WORDS))


def log_lines(path: Path = LOG) -> list[str]:
    """The log's lines that are neither empty nor very long, each once, in order."""
    lines = path.read_text("utf-8").split("\n")
    return list(dict.fromkeys(x for x in lines if x.strip() and len(x) <= LONGEST_CHARS))


def sample_rows(n: int, seed: int) -> list[str]:
    """`n` distinct texts: the log's own lines first, then seeded variations of them."""
    rows = dict.fromkeys(log_lines()[:n])
    for text in _variations(list(rows), random.Random(seed)):
        if len(rows) >= n:
            break
        rows.setdefault(text)
    return list(rows)


def write_rows(path: Path, n: int, seed: int) -> list[str]:
    """Write `n` rows as JSONL and return their ids, in order."""
    rows = {f"row-{i:05d}": text for i, text in enumerate(sample_rows(n, seed), start=1)}
    with path.open("w", encoding="utf-8") as file:
        for row_id, text in rows.items():
            file.write(json.dumps({"id": row_id, "text": text}, ensure_ascii=False) + "\n")
    return list(rows)


def _variations(lines: list[str], rng: random.Random) -> Iterator[str]:
    """Endlessly, lines with other numbers, ids and words. Ends at once if no line has any."""
    lines = [x for x in lines if _NUMBER.search(_TIME.sub("", x)) and len(x) > 40]
    while lines:
        for line in rng.sample(lines, len(lines)):
            parts = _TIME.split(line)  # text, time, text, time, ..., text
            parts[::2] = (_varied(part, rng) for part in parts[::2])
            yield "".join(parts)


def _varied(text: str, rng: random.Random) -> str:
    text = _WORD.sub(lambda m: rng.choice((m[0], *_WORDS[m[0]])), text)
    text = _HEX_ID.sub(lambda m: "".join(rng.choices("0123456789abcdef", k=len(m[0]))), text)
    return _NUMBER.sub(lambda m: _number_like(m[0], rng), text)


def _number_like(digits: str, rng: random.Random) -> str:
    """A number of as many digits; three stay within what is part of an IPv4 address."""
    low = 10 ** (len(digits) - 1)
    return str(rng.randint(low, 254 if len(digits) == 3 else 10 * low - 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if args.items < 1:
        parser.error(f"--items is {args.items}; it must be at least 1")
    for i, text in enumerate(sample_rows(args.items, args.seed), start=1):
        row = {"id": f"row-{i:05d}", "text": text}
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
