"""What reranking adds to BM25, on abstracts with graded judgements (Cranfield).

    python benchmarks/rerank_cranfield.py DOCS QUERIES [--model NAME] [--queries N] \\
        [--method embedding|likelihood|yes-no|words] [--read N] [--window-tokens N] [--whole] \\
        [--weights] [--scores FILE] [--seconds S] [--timed N]

DOCS has a line {"id", "text"} for each document, QUERIES a line {"query", "relevant"} for each
query, `relevant` being grades by document id: 1 the strongest, 4 the weakest, others none. BM25
over all documents gives 50 candidates, of which the reranker gives the best 5. Reported is nDCG@5
(gain 2^g - 1, g from 4 down to 1 for the grades 1 to 4) before and after, over all queries, each
third of them in file order, every second one and the others: what was chosen while looking at
some is told on the rest. --weights reports that for several weights of the first order.

What the model says goes to --scores as it comes; embeddings stand where `vedette rerank` keeps
them. --seconds is how long may be asked; then what is complete is reported, and the same command
goes on. --queries takes that many, chosen by a hash. --timed runs so many queries as they come to
a user, each by itself, and tells how long they took; by embedding twice, so that the second time
the candidates are known.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryDirectory
from typing import Any, cast

from common import print_report, say, table
from kept import Kept, json_lines

from vedette.backends.base import Backend, Result
from vedette.backends.local import LocalBackend
from vedette.backends.none import NoModel
from vedette.batch.kept_places import KeptPlaces
from vedette.batch.single import answer_item
from vedette.tasks.base import Ask
from vedette.tasks.bm25 import Bm25
from vedette.tasks.ranking import METHOD, METHODS, by_score
from vedette.tasks.rerank import Rerank
from vedette.types import EmbedRequest, Item, Json, ScoreRequest, Scores, Usage

FIRST = 50
TOP = 5
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
UNDER_WAY = 32


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its candidates, best by BM25 first, and the grades of all that is relevant."""

    text: str
    candidates: tuple[dict[str, str], ...]
    grades: dict[str, int]

    @property
    def item(self) -> Item:
        """What the task is given."""
        return Item(id="1", text=self.text, columns={"documents": cast(Json, [*self.candidates])})

    @property
    def before(self) -> float:
        """The nDCG of BM25."""
        return ndcg([one["id"] for one in self.candidates], self.grades)


def ndcg(ranked: Sequence[str], grades: dict[str, int], top: int = TOP) -> float:
    """Normalised discounted cumulative gain of the first `top`; 0 where nothing is relevant."""
    gains = {name: 2 ** (5 - grade) - 1 for name, grade in grades.items() if 1 <= grade <= 4}
    found = [gains.get(name, 0) for name in ranked[:top]]
    ideal = _discounted(sorted(gains.values(), reverse=True)[:top])
    return _discounted(found) / ideal if ideal else 0.0


def _discounted(gains: list[int]) -> float:
    return math.fsum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def queries(docs: Path, queries_file: Path) -> list[Query]:
    """The queries in file order."""
    documents = [
        {"id": str(row["id"]), "text": row["text"]} for row in json_lines(docs, "id", "text")
    ]
    words = Bm25([document["text"] for document in documents])
    found = []
    for row in json_lines(queries_file, "query", "relevant"):
        first = by_score(range(len(documents)), words.scores(row["query"]))[:FIRST]
        found.append(Query(row["query"], tuple(documents[i] for i in first), row["relevant"]))
    return found


def digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def key_of(ask: Ask) -> str:
    """What an answer depends on besides the model."""
    if isinstance(ask, ScoreRequest):
        return digest(repr((ask.prompt.messages, ask.choices)))
    return digest(repr(ask.prompt))


def asks_of(task: Rerank, query: Query, backend: Backend) -> list[Ask]:
    """What the task asks about a query's candidates."""
    return [*next(task.steps(query.item, backend), [])]


class Remembering(KeptPlaces):
    """Counts the tokens of a text once for all queries."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._n_tokens: dict[str, int] = {}

    def count_tokens(self, text: str) -> int:
        if text not in self._n_tokens:
            self._n_tokens[text] = super().count_tokens(text)
        return self._n_tokens[text]


class Answers:
    """What the model has said, in this run and, of scores, in earlier ones."""

    def __init__(self, backend: Backend, scores: Kept) -> None:
        self.backend = backend
        self._scores = scores
        self._known: dict[str, Result] = {}

    def get(self, ask: Ask) -> Result | None:
        """The answer, if it is known."""
        key = key_of(ask)
        kept = self._scores.get(key)
        if kept is not None and isinstance(ask, ScoreRequest):
            return Scores(choices=ask.choices, logprobs=tuple(kept["logprobs"]), usage=Usage())
        return self._known.get(key)

    def ask_all(self, asks: Sequence[Ask], seconds: float) -> None:
        """Ask for what is not known yet, while there is time."""
        groups = list(together([ask for ask in asks if self.get(ask) is None]))
        begun = time.perf_counter()
        waiting: deque[tuple[list[Ask], Any]] = deque()
        read = done = 0
        while groups or waiting:
            if groups and len(waiting) < UNDER_WAY:
                if time.perf_counter() - begun > seconds:
                    groups = []
                    continue
                group = groups.pop(0)
                waiting.append((group, cast(Any, self.backend).submit(asked_as(group))))
                continue
            group, handle = waiting.popleft()
            result = handle.result()
            read += result.usage.prompt_tokens - result.usage.cached_tokens
            read += result.usage.forced_tokens
            self._note(group, result)
            done += 1
            if done % 50 == 0:
                say(f"{done} prompts, {read} tokens, {time.perf_counter() - begun:.0f} s")

    def _note(self, group: Sequence[Ask], result: Result) -> None:
        if not isinstance(result, Scores):
            self._known[key_of(group[0])] = replace(result, usage=Usage())
            return
        rows = [result.logprobs] if len(group) == 1 else [(p,) for p in result.logprobs]
        for ask, row in zip(group, rows, strict=True):
            self._scores.add(key_of(ask), {"logprobs": [*row]})


def together(asks: Sequence[Ask]) -> Iterator[list[Ask]]:
    """Requests with the same prompt and one choice each, which can be one; others alone."""
    groups: dict[str, list[Ask]] = {}
    for ask in {key_of(ask): ask for ask in asks}.values():
        alone = not isinstance(ask, ScoreRequest) or len(ask.choices) > 1
        groups.setdefault(key_of(ask) if alone else repr(ask.prompt.messages), []).append(ask)
    yield from groups.values()


def asked_as(group: Sequence[Ask]) -> Ask:
    """One request for a group. Queries come again here as well as candidates."""
    first = group[0]
    if isinstance(first, ScoreRequest):
        choices = tuple(choice for ask in group for choice in cast(ScoreRequest, ask).choices)
        return replace(first, choices=choices)
    return replace(first, keep=True) if isinstance(first, EmbedRequest) else first


def ranked(task: Rerank, query: Query, answers: Answers) -> list[str]:
    """The ids in the order that the task gives, from answers that are known."""
    if not task.asks_model:
        answer = answer_item(task, query.item, answers.backend)
        return [one["id"] for one in cast(dict[str, Any], answer.value)["results"]]
    steps = task.steps(query.item, answers.backend)
    known = [answers.get(ask) for ask in next(steps)]
    try:
        steps.send(cast("list[Result]", known))
    except StopIteration as end:
        return [result["id"] for result in end.value.value["results"]]
    raise AssertionError("the task asks only once")


def difference(found: Sequence[float], chosen: Sequence[Query]) -> float:
    """Points of nDCG@5 over BM25."""
    return 100 * (fmean(found) - fmean(query.before for query in chosen))


def report(found: list[float], chosen: list[Query]) -> str:
    """All, each third, and each half."""
    n = len(chosen)
    parts = {"all": slice(0, n)} | {
        f"third {k + 1}": slice(k * n // 3, (k + 1) * n // 3) for k in range(3) if n >= 3
    }
    parts |= {"every second": slice(0, n, 2), "the others": slice(1, n, 2)}
    rows = []
    for name, part in parts.items():
        before = 100 * fmean(query.before for query in chosen[part])
        gain = difference(found[part], chosen[part])
        figures = (f"{before:.1f}", f"{before + gain:.1f}", f"{gain:+.1f}")
        rows.append((name, str(len(chosen[part])), *figures))
    gains = [100 * (after - query.before) for after, query in zip(found, chosen, strict=True)]
    error = stdev(gains) / math.sqrt(n)
    return (
        table(("queries", "n", "BM25 nDCG@5", "reranked", "difference"), rows)
        + f"\n\nstandard error of the difference: {error:.1f}; "
        f"{sum(gain > 0 for gain in gains)} queries gained, {sum(gain < 0 for gain in gains)} lost"
    )


def by_weight(task: Rerank, chosen: list[Query], answers: Answers) -> str:
    """The gain over BM25 for each weight of the first order, on both halves."""
    rows = []
    for weight in WEIGHTS:
        one = replace(task, first_weight=weight)
        found = [ndcg(ranked(one, query, answers), query.grades) for query in chosen]
        halves = (difference(found[k::2], chosen[k::2]) for k in (0, 1))
        rows.append((f"{weight:g}", *(f"{gain:+.1f}" for gain in halves)))
    return table(("first weight", "every second query", "the others"), rows)


def timed(task: Rerank, chosen: Sequence[Query], backend: Backend) -> str:
    """How long queries take, each by itself; twice where candidates are kept, from none on."""
    rounds = {"": chosen}
    if task.method == "embedding":
        rounds = {"candidates new": chosen, "candidates known": chosen}
    lines = []
    before = os.environ.get("VEDETTE_HOME")
    with TemporaryDirectory() as folder:
        os.environ["VEDETTE_HOME"] = folder
        try:
            for name, these in rounds.items():
                seconds, tokens = [], []
                for query in these:
                    begun = time.perf_counter()
                    usage = answer_item(task, query.item, backend).usage
                    seconds.append(time.perf_counter() - begun)
                    tokens.append(usage.prompt_tokens - usage.cached_tokens)
                    say(f"{seconds[-1]:.2f} s, {tokens[-1]} tokens")
                lines.append(
                    f"one query by itself ({len(seconds)}) {name}: median {median(seconds):.2f} s,"
                    f" most {max(seconds):.2f} s, {median(tokens):.0f} tokens read"
                )
        finally:
            os.environ.pop("VEDETTE_HOME")
            if before is not None:
                os.environ["VEDETTE_HOME"] = before
    return "\n".join(lines)


def measure(args: argparse.Namespace) -> str:
    """Ask, then say what came of it."""
    everything = queries(args.docs, args.queries_file)
    shuffled = sorted(everything, key=lambda query: digest(query.text))[: args.queries]
    task = Rerank(
        top=TOP,
        read=args.read,
        method=args.method,
        window_tokens=args.window_tokens,
        whole=args.whole or None,
    )
    about = {
        "benchmark": "rerank_cranfield",
        "model": args.model,
        "prompt": task.identity["prompt"],
    }
    scores = Kept(args.scores, about)
    backend: Backend = LocalBackend(args.model) if task.asks_model else NoModel()
    kept = Remembering(backend)
    try:
        answers = Answers(kept, scores)
        asks = {query.text: asks_of(task, query, kept) for query in shuffled}
        answers.ask_all([ask for one in asks.values() for ask in one], args.seconds)
        chosen = [
            query
            for query in everything
            if query.text in asks and all(answers.get(ask) is not None for ask in asks[query.text])
        ]
        if len(chosen) < 2:
            return "too few queries are complete; the same command goes on with what is kept"
        found = [ranked(task, query, answers) for query in chosen]
        malformed = sum(
            len(set(ids)) != TOP or not set(ids) <= {one["id"] for one in query.candidates}
            for ids, query in zip(found, chosen, strict=True)
        )
        gains = [ndcg(ids, query.grades) for ids, query in zip(found, chosen, strict=True)]
        lines = [report(gains, chosen), f"malformed rankings: {malformed}"]
        if args.weights:
            lines.append(by_weight(task, chosen, answers))
        if args.timed:
            lines.append(timed(task, chosen[: args.timed], backend))
        return "\n\n".join(lines)
    finally:
        kept.close()
        backend.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("docs", type=Path)
    parser.add_argument("queries_file", type=Path, metavar="queries")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--method", choices=METHODS, default=METHOD)
    parser.add_argument("--read", type=int)
    parser.add_argument("--window-tokens", type=int)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--timed", type=int, default=0)
    args = parser.parse_args()
    if args.queries is not None and args.queries < 1:
        parser.error(f"--queries is {args.queries}; it must be at least 1")
    kept_in = "VEDETTE_HOME" if args.method == "embedding" else "--scores"
    return print_report(lambda: measure(args), kept_in=kept_in)


if __name__ == "__main__":
    sys.exit(main())
