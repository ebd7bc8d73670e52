"""A text's place among others: what the model expects after it, as a vector.

The logits of the next token after "say in one word what this is about" lie close together for
texts that mean the same (the prompt-based representations of Zhuang et al. 2024, arXiv 2404.18424,
taken densely). So any chat model places texts, and the price is a prefill.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.types import Embedding

from .sequence import Sequence
from .ticket import Ticket

N_VALUES = 2048
"""Logits kept, at evenly spaced tokens: with all 150,000 neighbours are no better."""


class EmbedWork:
    """Implements `sequence.Work` for one embed request: it ends with its prompt."""

    def __init__(self, ticket: Ticket[Embedding]) -> None:
        self._ticket = ticket

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        return self._ticket.cancelled

    def settle(self, sequence: Sequence, rows: NDArray[np.float32], first_index: int) -> None:
        """The prompt is in the cache: read what may follow."""
        step = max(1, rows.shape[1] // N_VALUES)
        vector = tuple(rows[-1, ::step].tolist())
        sequence.finished = True
        self._ticket.settle(
            Embedding(vector=vector, usage=sequence.usage(0, 0), timings=sequence.timings())
        )

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self._ticket.settle(None, error)
