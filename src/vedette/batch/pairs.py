"""Pairs of rows that a model is asked about, with a journal of its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field

import orjson

from vedette.backends.base import Backend
from vedette.errors import InputError
from vedette.tasks.dedupe import GreyPair, Verdict
from vedette.tasks.same import LEAST_FOR_PRIOR, OTHER, Same, probabilities
from vedette.types import Item, Json, Usage

from .answers import answers
from .journal import Journal
from .progress import NoProgress, Progress, Snapshot
from .results import body_of, is_error, job_hash, job_identity, row_key

SAME_ABOVE = 0.6  # a merge that is wrong loses a row, one that is missed loses nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCheck:
    """Who judges the grey pairs, and how.

    `backend` opens it, only when there is a pair to be judged, and it is let go of after. A pair is
    the same thing when its probability is over `same_above`. `journal`, `workers`, `retry_failed`
    are as in `Job`. Raises `InputError` for numbers out of range.
    """

    task: Same
    backend: Callable[[], AbstractContextManager[Backend]]
    same_above: float = SAME_ABOVE
    journal: str | None = None
    workers: int | None = None
    retry_failed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.same_above < 1:
            raise InputError(f"same_above is {self.same_above:g}; it must be in [0, 1)")


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of the pairs. `usage` is by the later row of a pair.

    asked: pairs put to the model in this run; unanswered: pairs that ended in an error, whose rows
    stay apart.
    """

    verdicts: tuple[Verdict, ...] = ()
    usage: Mapping[int, Usage] = field(default_factory=dict)
    asked: int = 0
    unanswered: int = 0
    notes: tuple[str, ...] = ()

    @property
    def total_usage(self) -> Usage:
        """Tokens of all pairs, those of earlier runs included."""
        return sum(self.usage.values(), Usage())


def judge(
    pairs: Sequence[GreyPair],
    records: Mapping[int, str],
    check: PairCheck,
    journal_file: str | None = None,
    fresh: bool = False,
    progress: Callable[[], Progress] = NoProgress,
) -> Judged:
    """Ask about each pair that the journal does not know yet, and decide all of them together.

    Raises what opening the backend and the journal raise.
    """
    with check.backend() as backend:
        identity = job_identity(check.task, backend)
        opened = (
            Journal.open(journal_file, identity, fresh=fresh)
            if journal_file
            else Journal.temporary(identity)
        )
        with opened as journal:
            if check.retry_failed:
                journal.forget_errors()
            asking = _Asking(pairs, records, job_hash(identity), journal)
            with closing(progress()) as shown:
                asking.ask(check, backend, shown)
            return asking.judged(check.same_above)


class _Asking:
    """The pairs, each with its key in the journal."""

    def __init__(
        self,
        pairs: Sequence[GreyPair],
        records: Mapping[int, str],
        job: bytes,
        journal: Journal,
    ) -> None:
        self._pairs = pairs
        self._journal = journal
        items = (
            Item(
                id=str(number),
                text=records[pair.first],
                columns={OTHER: records[pair.second]},
            )
            for number, pair in enumerate(pairs)
        )
        self._items = {row_key(job, item): item for item in items}
        self._keys = list(self._items)
        self._asked = 0

    def ask(self, check: PairCheck, backend: Backend, progress: Progress) -> None:
        """Have the journal know every pair."""
        began_s = time.monotonic()
        missing = [key for key in self._keys if key not in self._journal]
        found = answers((self._items[key] for key in missing), check.task, backend, check.workers)
        with closing(found):
            for key, (_, outcome) in zip(missing, found, strict=True):
                self._journal.add(key, body_of(outcome))
                self._asked += 1
                pace = self._asked / max(1e-9, time.monotonic() - began_s)
                left = (len(missing) - self._asked) / pace
                progress.update(
                    Snapshot(
                        done=self._asked,
                        total=len(missing),
                        errors=0,
                        items_per_s=pace,
                        eta_s=left,
                    )
                )

    def judged(self, same_above: float) -> Judged:
        """The verdicts, from the answers to all pairs."""
        bodies = [self._journal.get(key) for key in self._keys]
        answered = [n for n, body in enumerate(bodies) if not is_error(body)]
        lines: dict[int, dict[str, Json]] = {n: orjson.loads(bodies[n]) for n in answered}
        chances = probabilities([lines[n]["value"] for n in answered])
        verdicts: list[Verdict] = []
        usage: dict[int, Usage] = {}
        for n, chance in zip(answered, chances, strict=True):
            first, second = self._pairs[n].first, self._pairs[n].second
            verdicts.append(Verdict(first, second, round(chance, 4), chance > same_above))
            usage[second] = usage.get(second, Usage()) + _usage(lines[n]["usage"])
        unanswered = len(bodies) - len(answered)
        return Judged(
            tuple(verdicts), usage, self._asked, unanswered, tuple(self._notes(bodies, answered))
        )

    def _notes(self, bodies: Sequence[bytes], answered: Sequence[int]) -> list[str]:
        notes = []
        if len(answered) >= LEAST_FOR_PRIOR:
            notes.append(
                f"what the model says on the mean over {len(answered):,} pairs is divided out"
            )
        if len(answered) < len(bodies):
            first = next(body for body in bodies if is_error(body))
            message = orjson.loads(first)["error"]["message"]
            notes.append(f"pairs without an answer stay apart; the first: {message}")
        return notes


def _usage(found: Json) -> Usage:
    tokens = found if isinstance(found, dict) else {}
    return Usage(prompt_tokens=int(str(tokens.get("prompt_tokens", 0))))
