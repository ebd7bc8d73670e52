"""Guesses by a smaller model of the same vocabulary."""

from __future__ import annotations

import time
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vedette.engine.choose import Drawn
from vedette.engine.constraint.matcher import MaskTable, Matcher
from vedette.engine.generate import Generation
from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model
from vedette.engine.prefix import n_common
from vedette.engine.sampling import greedy, mask_in_place
from vedette.engine.sequence import Sequence
from vedette.errors import EngineFailed

from .acceptance import Acceptance
from .draw import Draw
from .source import Guesses, Proposal
from .step_times import StepTimes

PRIOR = 0.7
"""Rate of right guesses before any was checked."""
MOST_GUESSES = 15
"""A longer run of a draft is hardly ever right."""
FEW = 4
"""So many tokens that it has not read yet go into the step of its first guess."""


@dataclass(slots=True, eq=False)
class _Place:
    """A sequence's cells in the draft's cache: `tokens` are in it."""

    seq_id: int
    sequence: Sequence | None = None
    tokens: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Run:
    """One sequence's guesses while they are being made."""

    place: _Place
    pending: list[int]
    wanted: int
    matcher: Matcher | None
    draw: Draw | None
    guesses: list[int] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)
    entry_s: float = 0.0


class DraftSource:
    """Implements `Source` with a model, its own cache, and what it has read so far.

    A new sequence goes on from the longest beginning that the cache has of another one, unless
    `share_prefixes` is off. While nobody wants its guesses it reads nothing and costs nothing.
    """

    name = "draft"

    def __init__(
        self,
        model: Model,
        target: Model,
        spec: ContextSpec,
        times: StepTimes,
        *,
        share_prefixes: bool = True,
    ) -> None:
        self._share_prefixes = share_prefixes
        self._model = model
        self._spec = spec
        self._target_times = times
        self._times = StepTimes()
        self._weight = model.size_bytes / max(1, target.size_bytes)
        self._n_tokens = min(model.n_vocab, target.n_vocab)
        self._acceptance = Acceptance(PRIOR)
        self._failure = ""
        self._masks = MaskTable(1, target.n_vocab)
        self._batch = Batch(spec.batch_tokens)
        self._open(spec.cells)

    def _open(self, cells: int) -> None:
        spec = self._spec
        self._context = Context(
            self._model,
            ContextSpec(
                cells=cells,
                n_seq=spec.n_seq,
                batch_tokens=spec.batch_tokens,
                n_outputs=spec.n_seq,
                threads=spec.threads,
                kv_type=spec.kv_type,
            ),
        )
        self._places = [_Place(seq_id) for seq_id in range(spec.n_seq)]

    def propose(self, sequence: Sequence, work: Generation, most: int) -> Proposal | None:
        """See `Source.propose`."""
        if sequence.shown:
            work.guessing.why_not = "a draft sees no pictures"
            return None
        seconds = self._guess_s()
        if seconds is None or self._failure:
            work.guessing.why_not = self._failure
            return None
        place = self._place_of(sequence)
        n_known = n_common(place.tokens, sequence.tokens) if place else 0
        acceptance = work.guessing.acceptance_of("draft", self._acceptance)
        entry_s = (len(sequence.tokens) - n_known - FEW) * self._read_s(seconds)
        most = min(most, MOST_GUESSES)
        self._explain(work, acceptance, most, seconds)
        return Proposal(self.name, sequence, work, acceptance, most, seconds, max(0.0, entry_s))

    def _guess_s(self) -> float | None:
        """What a guess takes; before the first one it is what its weights say."""
        own = self._times.curve()
        if own is not None:
            return own.seconds(1) * self._target_times.now_s
        target = self._target_times.curve()
        return target.seconds(1) * self._weight if target else None

    def _read_s(self, guess_s: float) -> float:
        """What a token of a prompt takes."""
        own = self._times.curve()
        if own is None:
            return guess_s / 4
        return (own.seconds(64) - own.seconds(32)) / 32 * self._target_times.now_s

    def _explain(self, work: Generation, acceptance: Acceptance, most: int, guess_s: float) -> None:
        """Note whether the draft could pay at all, for the verdict."""
        curve = self._target_times.curve()
        assert curve is not None
        best = max(
            (1 + n) / (curve.relative(1 + n) + n * guess_s / curve.seconds(1))
            for n in range(1, most + 1)
        )
        work.guessing.draft_at_best = best
        work.guessing.draft_rate = acceptance.rate(0)

    def guess(self, chosen: Sequences[tuple[Proposal, int]]) -> list[Guesses]:
        """See `Source.guess`: all sequences together, a token each in every step."""
        runs = [self._run(proposal, n) for proposal, n in chosen]
        try:
            self._read(runs)
            self._write(runs)
        except EngineFailed as error:
            # The answer needs no guesses; it goes on without, and its account says why.
            self._failure = f"the draft model failed: {error}"
            return [Guesses([]) for _ in chosen]
        for run in runs:
            run.place.tokens += run.guesses[:-1]  # the last one is not in its cache
        return [Guesses(run.guesses, tuple(run.drawn), run.entry_s) for run in runs]

    def _run(self, proposal: Proposal, n: int) -> _Run:
        sequence = proposal.sequence
        if sequence.n_total > self._context.cells:
            self._context.close()
            self._open(max(sequence.n_total, 2 * self._context.cells))
        place = self._place_of(sequence) or self._new_place(sequence)
        # The last token is read again where all are known: its logits are wanted.
        n_known = min(n_common(place.tokens, sequence.tokens), len(sequence.tokens) - 1)
        self._context.truncate(place.seq_id, n_known)
        place.tokens = sequence.tokens[:]
        matcher = proposal.work.matcher
        pending = sequence.tokens[n_known:]
        draw = Draw.of(proposal.work)
        return _Run(place, pending, n, matcher.fork() if matcher else None, draw)

    def _place_of(self, sequence: Sequence) -> _Place | None:
        return next((place for place in self._places if place.sequence is sequence), None)

    def _new_place(self, sequence: Sequence) -> _Place:
        """A place with the longest beginning that is known; room is made first."""
        likest = max(self._places, key=lambda place: n_common(place.tokens, sequence.tokens))
        n_known = n_common(likest.tokens, sequence.tokens) if self._share_prefixes else 0
        over = [p for p in self._places if p.sequence is None or p.sequence.finished]
        place = min(over or self._places, key=lambda p: (p is likest, len(p.tokens)))
        if likest.sequence is not None and not likest.sequence.finished and place is likest:
            n_known = 0
        if place is not likest:
            self._context.drop(place.seq_id)
            self._context.share(likest.seq_id, place.seq_id, n_known)
        place.tokens = sequence.tokens[:n_known]
        place.sequence = sequence
        self._make_room(place, sequence.n_total)
        return place

    def _make_room(self, place: _Place, n_total: int) -> None:
        """Drop what ended, then what lives, until the sequence fits whatever is shared."""
        others = sorted(
            (p for p in self._places if p is not place and p.tokens),
            key=lambda p: p.sequence is not None and not p.sequence.finished,
        )
        while others and n_total + sum(len(p.tokens) for p in others) > self._context.cells:
            victim = others.pop(0)
            self._context.drop(victim.seq_id)
            victim.tokens, victim.sequence = [], None

    def _read(self, runs: list[_Run]) -> None:
        """Read what the sequences have got meanwhile, but for what goes with the first guesses."""
        size = self._spec.batch_tokens
        for run in runs:
            while (n_left := len(run.pending) - self._n_joined(run, len(runs))) > 0:
                part = run.pending[: 1 if len(run.pending) <= FEW else min(size, n_left)]
                self._batch.clear()
                start = len(run.place.tokens) - len(run.pending)
                self._batch.add(run.place.seq_id, part, start, 0)
                seconds = self._decode(len(part))
                del run.pending[: len(part)]
                if len(part) > 1:  # else a guess of the last step, which is part of its price
                    run.entry_s += seconds

    def _n_joined(self, run: _Run, n_runs: int) -> int:
        """How many tokens go into the step of the first guess: the last few, if that is faster.

        There are weights of which a step of two tokens takes longer than two steps.
        """
        n = min(len(run.pending), FEW, max(1, self._spec.batch_tokens // n_runs))
        curve = self._times.curve()
        if curve is not None and curve.seconds(n) > n * curve.seconds(1):
            return 1
        return n

    def _write(self, runs: list[_Run]) -> None:
        """A token for each run in every step, until all have what they want."""
        going = runs[:]
        while going:
            self._batch.clear()
            for run in going:
                at = len(run.place.tokens) - len(run.pending) + len(run.guesses)
                self._batch.add(run.place.seq_id, run.pending, at, 1)
            self._decode(sum(len(run.pending) for run in going))
            rows = self._context.logits(len(going))
            for run, row in zip(going, rows, strict=True):
                token = self._choose(run, row[: self._n_tokens])
                if token is not None:
                    run.guesses.append(token)
                    run.pending = [token]
                else:
                    run.wanted = 0
            going = [run for run in going if len(run.guesses) < run.wanted]

    def _decode(self, n_tokens: int) -> float:
        """Decode the batch; how long it took.

        That counts in times of the target's steps, which share the machine. A long batch is a
        prompt, of which no logits are wanted.
        """
        began = time.perf_counter()
        self._context.decode(self._batch)
        self._context.synchronize()
        seconds = time.perf_counter() - began
        n_outputs = 0 if n_tokens > FEW * self._spec.n_seq else n_tokens
        self._times.add(n_tokens, n_outputs, seconds / self._target_times.now_s)
        return seconds

    def _choose(self, run: _Run, row: NDArray[np.float32]) -> int | None:
        """The likeliest token that the constraint allows, or a drawn one; None if there is none."""
        if run.matcher is not None and run.matcher.must_end:
            return None
        mask = None if run.matcher is None else self._masks.one(run.matcher)
        if run.draw is None:
            token = greedy(row, mask)
        else:
            mask_in_place(row, mask)
            drawn = run.draw.next(row)
            run.drawn.append(drawn)
            token = drawn.token
        if run.matcher is not None:
            run.matcher.accept(token)
        return token

    def close(self) -> None:
        """Free the cache and the model."""
        self._context.close()
        self._model.close()
