"""Seconds that `vedette dedupe` takes for many short rows with exact and near duplicates.

    python benchmarks/dedupe_speed.py --rows 100000

The rows are made up: 6 to 14 words out of 5,000, one in ten repeated in capitals, two in ten with
a letter changed. Each way of comparing runs once, from the file to the result lines. `--peer`
times datasketch's MinHash and LSH on the same rows too, where it is installed.
"""

from __future__ import annotations

import argparse
import random
import resource
import string
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from vedette.batch.dedupe import DedupeJob, run_dedupe
from vedette.batch.source import Source
from vedette.tasks.dedupe import Matching
from vedette.tasks.dedupe.shingles import Shingles

WAYS = {
    "characters": Matching(),
    "words in twos": Matching(shingles=Shingles("words", 2), threshold=0.6),
    "rare words": Matching(by="words"),
}


def made_up(count: int, seed: int = 1) -> Iterator[str]:
    chance = random.Random(seed)
    letters = string.ascii_lowercase
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(5000)]
    while count > 0:
        row = " ".join(chance.choices(words, k=chance.randint(6, 14)))
        family = [row]
        kind = chance.random()
        if kind < 0.1:
            family.append(row.upper())
        elif kind < 0.3:
            at = chance.randrange(len(row))
            family.append(row[:at] + chance.choice(letters) + row[at + 1 :])
        yield from family[:count]
        count -= len(family)


def peer(rows: list[str]) -> float:
    from datasketch import MinHash, MinHashLSH

    began_s = time.perf_counter()
    index = MinHashLSH(threshold=0.8, num_perm=128)
    shingles = [
        {row[i : i + 3].encode() for i in range(max(1, len(row) - 2))}
        for row in map(str.lower, rows)
    ]
    for number, signature in enumerate(MinHash.generator(shingles, num_perm=128)):
        if not index.query(signature):
            index.insert(number, signature)
    return time.perf_counter() - began_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    rows = list(made_up(options.rows))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.txt")
        source.write_text("".join(f"{row}\n" for row in rows))
        for name, matching in WAYS.items():
            out = str(Path(folder, f"{name}.jsonl"))
            job = DedupeJob(source=Source(paths=(str(source),)), matching=matching, out=out)
            done = run_dedupe(job)
            print(
                f"{name:<14} {done.wall_s:6.2f} s  {done.rows / done.wall_s:9,.0f} rows/s  "
                f"{done.representatives:,} different, {done.exact:,} exact, {done.near:,} near"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory    {peak:6.0f} MB")
    if options.peer:
        print(f"datasketch     {peer(rows):6.2f} s")


if __name__ == "__main__":
    main()
