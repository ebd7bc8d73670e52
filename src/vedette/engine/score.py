"""Choices scored over a trie of forked sequences: one prefill, then only the tokens that differ.

The score of a choice is the sum of the log-probabilities of its tokens. The end of the answer is
counted where it decides something: at a choice that is the beginning of another one. So the
common case, single-token labels, costs the prefill and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.errors import LabelError
from vedette.types import Scores, Usage

from .sampling import log_softmax_at
from .sequence import Sequence
from .ticket import Ticket

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChoiceTrie:
    """The choices as token paths. `inner` are the paths after which something must be known."""

    choices: tuple[str, ...]
    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        if len(set(self.choices)) != len(self.choices):
            twice = next(c for i, c in enumerate(self.choices) if c in self.choices[:i])
            raise LabelError(f"the choice {twice!r} is there twice")
        if not self.choices or not all(self.paths):
            raise LabelError("choices must be non-empty texts, at least one")

    @property
    def ending(self) -> frozenset[Path]:
        """Choices that are the beginning of another choice: their end must be scored."""
        return frozenset(self.paths) - frozenset(_longest(self.paths))

    @property
    def branches(self) -> tuple[Path, ...]:
        """The longest paths whose tokens must be decoded, one forked sequence each."""
        before_last = {path[:-1] for path in self.paths if len(path) > 1}
        return tuple(_longest(before_last | self.ending))


def _longest(paths: Iterable[Path]) -> list[Path]:
    """The paths that no other one goes on from, sorted."""
    ordered = sorted(set(paths))  # what goes on from a path comes right after it
    following = [*ordered[1:], ()]
    return [
        path for path, after in zip(ordered, following, strict=False) if after[: len(path)] != path
    ]


class Scoring:
    """One score request: collects log-probabilities from its branches until all are known."""

    def __init__(
        self, trie: ChoiceTrie, ticket: Ticket[Scores], eog_tokens: frozenset[int]
    ) -> None:
        self.ticket = ticket
        self.trie = trie
        self.branches_left = len(trie.branches)
        self._eog = sorted(eog_tokens)
        self._ending = trie.ending
        self._next: dict[Path, set[int]] = {}
        for path in trie.paths:
            for n in range(len(path)):
                self._next.setdefault(path[:n], set()).add(path[n])
        self._logprob: dict[Path, float] = {}
        self._end_logprob: dict[Path, float] = {}

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        return self.ticket.cancelled

    def learn(self, path: Path, row: NDArray[np.float32]) -> None:
        """Take what the logits after `path` say about the tokens that may follow."""
        tokens = sorted(self._next.get(path, ()))
        ends = self._eog if path in self._ending else []
        values = log_softmax_at(row, [*tokens, *ends])
        for token, value in zip(tokens, values, strict=False):
            self._logprob[(*path, token)] = value
        if ends:
            self._end_logprob[path] = float(np.logaddexp.reduce(values[len(tokens) :]))

    def finish(self, root: Sequence) -> None:
        """Add up and answer."""
        totals = tuple(
            math.fsum(self._logprob[path[: n + 1]] for n in range(len(path)))
            + self._end_logprob.get(path, 0.0)
            for path in self.trie.paths
        )
        root.finished = True
        usage = root.usage(0, 0) + Usage(forced_tokens=sum(map(len, self.trie.branches)))
        self.ticket.settle(
            Scores(choices=self.trie.choices, logprobs=totals, usage=usage, timings=root.timings())
        )

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self.ticket.settle(None, error)


class RootWork:
    """Implements `sequence.Work` for the prompt: knows the first tokens, then waits for forks."""

    def __init__(self, scoring: Scoring) -> None:
        self.scoring = scoring
        self.ready_to_fork = False

    def forks(self, root: Sequence) -> list[Sequence]:
        """A sequence for each branch of the trie, standing on the prompt's cells."""
        n = root.n_prompt
        return [
            Sequence(
                work=BranchWork(self.scoring, path, root),
                tokens=[*root.tokens[:n], *path],
                n_prompt=n,
                n_total=n + len(path),
                logits_from=n,
                adapters=root.adapters,
                deadline=root.deadline,
                parent=root,
                n_cached=n,
            )
            for path in self.scoring.trie.branches
        ]

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        return self.scoring.cancelled

    def settle(self, sequence: Sequence, rows: NDArray[np.float32], first_index: int) -> None:
        """The prompt is in the cache: read the first tokens, ask the loop for forks."""
        self.scoring.learn((), rows[-1])
        if self.scoring.branches_left:
            self.ready_to_fork = True
        else:
            self.scoring.finish(sequence)

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self.scoring.fail(error)


class BranchWork:
    """Implements `sequence.Work` for one forked path of the trie."""

    def __init__(self, scoring: Scoring, path: Path, root: Sequence) -> None:
        self._scoring = scoring
        self._path = path
        self._root = root
        self._n_known = 0

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        return self._scoring.cancelled

    def settle(self, sequence: Sequence, rows: NDArray[np.float32], first_index: int) -> None:
        """Each row follows one more token of the path."""
        for row in rows:
            self._n_known += 1
            self._scoring.learn(self._path[: self._n_known], row)
        sequence.logits_from = sequence.n_cached
        if self._n_known == len(self._path):
            sequence.finished = True
            self._scoring.branches_left -= 1
            if not self._scoring.branches_left:
                self._scoring.finish(self._root)

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self._scoring.fail(error)
