"""What reranking adds to BM25, on abstracts with graded judgements (Cranfield).

    python benchmarks/rerank_cranfield.py DOCS QUERIES [--model NAME] [--queries N] \\
        [--scoring yes-no|likelihood] [--out answers.jsonl]

DOCS has a line {"id", "text"} for each document, QUERIES a line {"query", "relevant"} for each
query, `relevant` being grades by document id: 1 the strongest, 4 the weakest, others none. BM25
over all documents gives 50 candidates, of which the reranker gives the best 5. Reported is nDCG@5
(gain 2^g - 1, g from 4 down to 1 for the grades 1 to 4) before and after, over all queries and
over each third of them, in file order. Answers go to --out as they come; a run that is begun again
takes them from there. --queries takes that many, spread evenly over the file.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

from common import say, table
from kept import Kept, json_lines

from vedette.backends.local import LocalBackend
from vedette.batch.single import answer_item
from vedette.cli.bench_run import stopped_by_sigterm
from vedette.errors import VedetteError
from vedette.tasks.bm25 import bm25
from vedette.tasks.ranking import SCORING, SCORINGS, by_score
from vedette.tasks.rerank import Rerank
from vedette.types import Item

FIRST = 50
TOP = 5


def ndcg(ranked: list[str], grades: dict[str, int], top: int = TOP) -> float:
    """Normalised discounted cumulative gain of the first `top`; 0 where nothing is relevant."""
    gains = {name: 2 ** (5 - grade) - 1 for name, grade in grades.items() if 1 <= grade <= 4}
    found = [gains.get(name, 0) for name in ranked[:top]]
    ideal = _discounted(sorted(gains.values(), reverse=True)[:top])
    return _discounted(found) / ideal if ideal else 0.0


def _discounted(gains: list[int]) -> float:
    return math.fsum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def answer(task: Rerank, row: dict, candidates: list[dict], backend: LocalBackend) -> dict:
    """The ranking of one query's candidates, and how long it took."""
    item = Item(id="1", text=row["query"], columns={"documents": candidates})
    begun = time.perf_counter()
    found: Any = answer_item(task, item, backend)
    return {
        "ranked": [result["id"] for result in found.value["results"]],
        "stages": found.value["stages"],
        "read_tokens": found.usage.prompt_tokens - found.usage.cached_tokens,
        "s": time.perf_counter() - begun,
    }


def measure(args: argparse.Namespace) -> list[dict]:
    """Each query's nDCG by BM25 and after reranking."""
    documents = [
        {"id": str(row["id"]), "text": row["text"]} for row in json_lines(args.docs, "id", "text")
    ]
    texts = [document["text"] for document in documents]
    rows = json_lines(args.queries_file, "query", "relevant")
    if args.queries is not None:
        n = min(args.queries, len(rows))
        rows = [rows[i * len(rows) // n] for i in range(n)]
    task = Rerank(top=TOP, read=FIRST, scoring=args.scoring)
    kept = Kept(args.out, {"benchmark": "rerank_cranfield", "model": args.model, **task.identity})
    backend = LocalBackend(args.model)
    found = []
    try:
        for number, row in enumerate(rows, 1):
            first = by_score(range(len(texts)), bm25(row["query"], texts))[:FIRST]
            candidates = [documents[i] for i in first]
            reply = kept.get(row["query"])
            if reply is None:
                reply = answer(task, row, candidates, backend)
                kept.add(row["query"], reply)
            ranked, names = reply["ranked"], {one["id"] for one in candidates}
            found.append(
                {
                    **reply,
                    "before": ndcg([one["id"] for one in candidates], row["relevant"]),
                    "after": ndcg(ranked, row["relevant"]),
                    "malformed": len(set(ranked)) != TOP or not set(ranked) <= names,
                }
            )
            say(f"{number} of {len(rows)}: {found[-1]['before']:.3f} {found[-1]['after']:.3f}")
    finally:
        backend.close()
    return found


def report(found: list[dict]) -> str:
    """The table, and what it took."""
    n = len(found)
    parts = {"all": found} | {
        f"third {k + 1}": found[k * n // 3 : (k + 1) * n // 3] for k in range(3) if n >= 3
    }
    rows = []
    for name, part in parts.items():
        before, after = (100 * fmean(one[key] for one in part) for key in ("before", "after"))
        figures = (f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}")
        rows.append((name, str(len(part)), *figures))
    settled = sum(one["stages"]["settled"] for one in found)
    return "\n".join(
        (
            table(("queries", "n", "BM25 nDCG@5", "reranked", "difference"), rows),
            f"malformed rankings: {sum(one['malformed'] for one in found)}",
            f"settled without comparisons: {settled} of {n}",
            f"seconds a query: median {median(one['s'] for one in found):.1f}; "
            f"tokens read: {median(one['read_tokens'] for one in found):.0f}",
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("docs", type=Path)
    parser.add_argument("queries_file", type=Path, metavar="queries")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--scoring", choices=SCORINGS, default=SCORING)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.queries is not None and args.queries < 1:
        parser.error(f"--queries is {args.queries}; it must be at least 1")
    try:
        with stopped_by_sigterm():
            print(report(measure(args)))
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("stopped; the same command goes on with what is in --out")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
