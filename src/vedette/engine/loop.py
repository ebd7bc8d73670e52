"""The engine's loop: admit, plan, decode, settle."""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import partial
from itertools import islice, takewhile

import numpy as np
from numpy.typing import NDArray

from vedette.errors import (
    Cancelled,
    DeadlineExceeded,
    EngineFailed,
    InputTooLong,
    Overloaded,
    VedetteError,
)

from .admission import LOOKED_AT, has_place, next_of
from .errands import Errands
from .generate import Generation
from .holder import Start
from .llama.model import Model
from .options import EngineOptions
from .plan import Slice, plan
from .room import Room, spec_of
from .score import RootWork
from .sequence import Sequence
from .speculation.draft_model import DraftSource
from .speculation.ngram import NgramSource
from .speculation.source import Source
from .speculation.speculator import Speculator
from .speculation.step_times import StepTimes
from .stats import EngineStats
from .step import Step
from .turns import Turns


class Loop:
    """Runs sequences on one context, on a thread of its own.

    `submit` may be called from any thread; everything else happens on the loop's thread, so no
    other state is locked. The context starts small and is opened anew, larger, when a request
    needs it and nothing else is live.
    """

    def __init__(
        self, model: Model, options: EngineOptions, max_cells: int, draft: Model | None = None
    ) -> None:
        self.stats = EngineStats()
        self.max_cells = max_cells
        self._model = model
        self._options = options
        self._queue: deque[Sequence] = deque()
        self._live: list[Sequence] = []
        self._forks: deque[Sequence] = deque()
        self._changed = threading.Condition()
        self.errands = Errands(self._changed)
        self._turns = Turns()
        self._closing = False
        self._failure: EngineFailed | None = None
        self._room = Room(model, options, max_cells)
        times = StepTimes(options.curve)
        self._batch = Step(options.batch_tokens, options.n_outputs, model.n_vocab, times)
        self._speculator = Speculator(times, self._sources(times, draft))
        self._thread = threading.Thread(target=self._run, name="vedette-engine", daemon=True)
        self._thread.start()

    def _sources(self, times: StepTimes, draft: Model | None) -> list[Source]:
        sources: list[Source] = [NgramSource()]
        if draft is not None:
            spec = spec_of(self._options, min(self._options.cells, self.max_cells))
            share = self._options.share_prefixes
            sources.append(DraftSource(draft, self._model, spec, times, share_prefixes=share))
        return sources

    @property
    def n_waiting(self) -> int:
        """Sequences in the queue. From any thread."""
        return len(self._queue)

    @property
    def n_running(self) -> int:
        """Sequences that are live. From any thread."""
        return len(self._live)

    def submit(self, sequence: Sequence) -> None:
        """Queue a sequence. Raises `InputTooLong` or `Overloaded` at once."""
        if sequence.n_total > self.max_cells:
            raise InputTooLong(
                f"the prompt has {sequence.n_prompt} tokens and the answer may take "
                f"{sequence.n_total - sequence.n_prompt}; together at most {self.max_cells} fit",
                hint="shorten the input, lower max_tokens, or choose a model with more context",
            )
        with self._changed:
            if self._closing:
                raise self._failure or EngineFailed("the engine is closed")
            if len(self._queue) >= self._options.max_queue:
                raise Overloaded(
                    f"{len(self._queue)} requests are waiting already", hint="try again later"
                )
            self._queue.append(sequence)
            self._changed.notify()

    def close(self) -> None:
        """End the thread; whatever is under way fails with `Cancelled`."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._has_work():
                self.errands.do_all(self._room)
                self._step()
        except Exception as error:
            # A fault of ours. Nobody may wait for ever: it becomes the answer of all requests.
            self._failure = _internal_error(error)
        with self._changed:
            self._closing = True
            waiting = [*self._live, *self._forks, *self._queue]
            self._queue.clear()
        for sequence in waiting:
            sequence.work.fail(self._failure or Cancelled("the engine was closed"))
        self._live, self._forks = [], deque()
        self.errands.close(self._failure)
        self._speculator.close()
        self._room.context.close()

    def _has_work(self) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self._queue or self._live or self.errands or self._closing
            )
            return not self._closing

    def _step(self) -> None:
        started = time.perf_counter()
        self._drop_ended()
        self._admit()
        group = self._show_picture(self._turns.group(self._live))
        self._speculator.guess(group, self._options.batch_tokens)
        slices = plan(group, self._options.batch_tokens, self._options.n_outputs)
        if not slices:
            return
        rows = self._decode(slices)
        if rows is None:
            return
        self._settle(slices, rows)
        step_s = time.perf_counter() - started
        n_tokens = sum(part.n_tokens + part.n_guesses for part in slices)
        self.stats.record(n_tokens, len(rows), self._batch.decode_s, step_s)

    def _show_picture(self, group: list[Sequence]) -> list[Sequence]:
        """Show a part of one picture, whose turn it is, as no batch holds vectors and tokens.

        Returns the group without what has failed.
        """
        sequence = next((each for each in group if each.shown_next is not None), None)
        if sequence is None:
            return group
        began = time.perf_counter()
        try:
            n = self._batch.show(self._room.context, sequence, self._options.batch_tokens)
        except EngineFailed as error:
            self._fail(sequence, error)
            return [each for each in group if each is not sequence]
        self._advance(sequence, n)
        self.stats.record(n, 0, self._batch.decode_s, time.perf_counter() - began)
        return group

    def _drop_ended(self) -> None:
        """Take out what was cancelled or is too late, queued or live."""
        now = time.monotonic()
        with self._changed:
            queued = [*self._queue]
        for sequence in [*self._live, *queued]:
            if sequence.work.cancelled:
                self._fail(sequence, Cancelled("the request was cancelled"))
            elif sequence.deadline is not None and now > sequence.deadline:
                self._fail(sequence, DeadlineExceeded("the deadline passed before the answer"))

    def _admit(self) -> None:
        """Move sequences from the queue to the live ones while there is room."""
        self._admit_forks()
        while (sequence := self._next()) is not None:
            if sequence.n_total > self._room.context.cells:
                if self._live:
                    return
                if not self._grow(sequence):
                    continue
            start = self._room.cells.start(
                sequence.may_be_cached, sequence.n_total, self._spare_ids(), sequence.adapters
            )
            if start is None:
                return
            self._begin(sequence, start)

    def _next(self) -> Sequence | None:
        """The one of the queue to be admitted; none if there is no place for the first of them."""
        fits = partial(has_place, self._live, self._options.width)
        with self._changed:
            waiting = list(islice(takewhile(fits, self._queue), LOOKED_AT))
        return next_of(waiting, self._live, self._room.cells)

    def _begin(self, sequence: Sequence, start: Start) -> None:
        with self._changed:
            for older in takewhile(lambda other: other is not sequence, self._queue):
                older.n_passed += 1
            self._queue.remove(sequence)
        sequence.start = start
        sequence.admitted_at = time.monotonic()
        sequence.n_cached = sequence.prefix_tokens = start.n_cached
        self.stats.tokens_shared += start.n_cached
        self.stats.requests += 1
        self._live.append(sequence)

    def _spare_ids(self) -> int:
        """Sequence ids that forks and kept prefixes need, so that nobody waits for ever."""
        return min(4, self._options.n_seq // 4)

    def _grow(self, sequence: Sequence) -> bool:
        """Room for the sequence, or its failure."""
        try:
            self._room.grow(sequence.n_total)
        except EngineFailed as error:
            self._fail(sequence, error)
            return False
        return True

    def _admit_forks(self) -> None:
        while self._forks:
            branch = self._forks[0]
            assert branch.parent is not None
            seq_id = self._room.cells.fork(branch.parent.seq_id, branch.n_cached)
            if seq_id is None:
                return
            self._forks.popleft()
            branch.start = Start(seq_id, branch.n_cached)
            self._live.append(branch)

    def _decode(self, slices: list[Slice]) -> NDArray[np.float32] | None:
        """Run the step's batch; the logits' view, or None when llama.cpp failed."""
        try:
            rows = self._batch.decode(self._room.context, slices)
        except EngineFailed as error:
            for part in slices:
                self._fail(part.sequence, error)
            return None
        if self._batch.changed_adapters:
            self.stats.adapter_changes += 1
        else:
            self._speculator.timed(self._batch.decode_s)
        for part in slices:
            self._advance(part.sequence, part.n_tokens)
        return rows

    def _advance(self, sequence: Sequence, n_tokens: int) -> None:
        was_in_prompt = sequence.in_prompt
        sequence.n_cached += n_tokens
        if was_in_prompt and sequence.parent is None:
            self._offer(sequence)

    def _offer(self, sequence: Sequence) -> None:
        """Let others begin with what is in the cache of a prompt."""
        cells, n_cached = self._room.cells, sequence.n_cached
        if n_cached == sequence.n_shared:
            shared = sequence.tokens[:n_cached]
            cells.keep(sequence.seq_id, shared, self._spare_ids())
        cells.read(sequence.seq_id, sequence.before_answer[:n_cached])

    def _settle(self, slices: list[Slice], rows: NDArray[np.float32]) -> None:
        self._batch.prepare_masks(self._room.context, slices)
        row = index = 0
        for part in slices:
            sequence = part.sequence
            index += part.n_tokens + part.n_guesses
            n_wanted = part.n_wanted + part.n_guesses
            if not n_wanted:
                continue
            own = rows[row : row + n_wanted]
            row += n_wanted
            if sequence.start is None:  # its request failed earlier in this step
                continue
            n_before = sequence.n_cached
            sequence.first_logits_at = sequence.first_logits_at or time.monotonic()
            try:
                sequence.work.settle(sequence, own, index - n_wanted)
            except Exception as error:  # whatever went wrong is this request's answer
                typed = error if isinstance(error, VedetteError) else _internal_error(error)
                self._fail(sequence, typed)
                continue
            self.stats.record_guesses(part.n_guesses, max(0, sequence.n_cached - n_before))
            self._after(sequence)
        self._live = [s for s in self._live if not s.finished]

    def _after(self, sequence: Sequence) -> None:
        """Fork what asks for it; release what has ended."""
        work = sequence.work
        if isinstance(work, RootWork) and work.ready_to_fork:
            work.ready_to_fork = False
            self._forks.extend(work.forks(sequence))
        if sequence.finished:
            # A prompt that says what it shares has it kept already; another may be a chat's turn.
            is_turn = sequence.n_shared == 0 and isinstance(work, Generation)
            self._release(sequence, keep=is_turn)
            parent = sequence.parent
            if parent is not None and parent.finished:
                self._release(parent)

    def _release(self, sequence: Sequence, *, keep: bool = False) -> None:
        """Let a sequence's cells go, or keep them for what continues it."""
        sequence.finished = True
        start, sequence.start = sequence.start, None
        if start is None:
            return
        if sequence.parent is None:
            self._room.cells.finish(start, sequence.tokens[: sequence.n_cached] if keep else None)
        else:
            self._room.cells.release_id(start.seq_id)

    def _fail(self, sequence: Sequence, error: BaseException) -> None:
        """End a request with an error, and with it all the sequences that serve it."""
        root = sequence.parent or sequence
        root.work.fail(error)
        for member in [s for s in self._live if s is not root and s.parent is root]:
            self._release(member)
        self._release(root)
        self._forks = deque(s for s in self._forks if s.parent is not root)
        self._live = [s for s in self._live if not s.finished]
        with self._changed:
            if root in self._queue:
                self._queue.remove(root)


def _internal_error(error: Exception) -> EngineFailed:
    """A fault of the engine itself in the caller's terms; the original is its cause."""
    failure = EngineFailed(f"the engine stumbled: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
