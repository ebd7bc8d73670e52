"""One step's batch: filled from the plan, decoded, with the masks of what will be sampled."""

from __future__ import annotations

import time
from collections.abc import Sequence as Sequences

import numpy as np
from numpy.typing import NDArray

from .constraint.matcher import MaskTable
from .generate import Generation
from .llama.batch import Batch
from .llama.context import MOST_PADDING, Context
from .plan import Slice
from .sequence import Sequence
from .speculation.step_times import StepTimes


class Step:
    """Room for a batch and its masks, used again in each step."""

    def __init__(self, batch_tokens: int, n_outputs: int, n_vocab: int, times: StepTimes) -> None:
        self._batch = Batch(batch_tokens + MOST_PADDING)
        self._masks = MaskTable(n_outputs, n_vocab)
        self._times = times
        self.decode_s = 0.0
        self.changed_adapters = False

    def decode(self, context: Context, slices: Sequences[Slice]) -> NDArray[np.float32]:
        """The logits that are wanted, a row each, slice by slice. Raises `EngineFailed`.

        All slices are under the same adapters. The rows are a view, valid until the next step.
        """
        self._batch.clear()
        for part in slices:
            own = part.sequence
            tokens = own.tokens[own.n_cached : own.n_cached + part.n_tokens]
            n_wanted = part.n_wanted + part.n_guesses
            if part.n_guesses:
                tokens = tokens + own.guesses
            self._batch.add(own.seq_id, tokens, own.n_cached, n_wanted)
        n_tokens = self._batch.n_tokens
        n_outputs = sum(part.n_wanted + part.n_guesses for part in slices)
        n_padding = self._pad(context, n_tokens)
        self.changed_adapters = context.adapt(slices[0].sequence.adapters)
        began = time.perf_counter()
        context.decode(self._batch)
        rows = context.logits(n_outputs)
        self.decode_s = time.perf_counter() - began
        if n_padding:
            context.drop(context.padding_id)
        elif not self.changed_adapters:  # else planning took a part of it
            self._times.add(n_tokens, n_outputs, self.decode_s)
        return rows

    def show(self, context: Context, sequence: Sequence, most: int) -> int:
        """Put what comes next of a sequence's picture into its cells; how many positions.

        At most `most`, unless the picture must be shown at once. Raises `EngineFailed`.
        """
        shown = sequence.shown_next
        assert shown is not None
        vectors = shown.slice(sequence.n_cached, most)
        context.adapt(sequence.adapters)
        began = time.perf_counter()
        context.show(sequence.seq_id, vectors, sequence.n_cached)
        self.decode_s = time.perf_counter() - began
        return len(vectors)

    def _pad(self, context: Context, n_tokens: int) -> int:
        """Fill up to the size of which a step is faster, if there is one so near."""
        curve = self._times.curve()
        if curve is None or not context.rolls_back:
            return 0
        n_padding = curve.padded(n_tokens) - n_tokens
        if not 0 < n_padding <= MOST_PADDING:
            return 0
        self._batch.add(context.padding_id, [0] * n_padding, 0, 0)
        return n_padding

    def prepare_masks(self, context: Context, slices: Sequences[Slice]) -> None:
        """Compute the masks of all sequences that will sample, together."""
        sampling: list[Generation] = []
        for part in slices:
            work = part.sequence.work
            if isinstance(work, Generation):
                work.context, work.masks, work.mask = context, self._masks, None
                if work.matcher is not None and part.n_wanted and not part.sequence.n_pending:
                    sampling.append(work)
        masks = self._masks.fill([work.matcher for work in sampling if work.matcher is not None])
        for i, work in enumerate(sampling):
            work.mask = masks[i]
