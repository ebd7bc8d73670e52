"""Timed steps of a model: reading a prompt, and sequences that go on by some tokens each.

The tokens are random: speed does not depend on what they mean.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec

PREFIX_TOKENS = 32  # what every sequence already holds when it goes on
STEPS = 32  # the most that a sequence goes on before it starts again
VISIT_TOKENS = 512  # the most that a visit adds, over all its sequences and steps
MAX_PROMPT_TOKENS = 256
CELLS = 1024  # holds the prefix, the largest visit and the longest prompt
WARM_TOKENS = 16
_PREFIX = 0  # sequence ids: the prefix, those that go on from 1, and at last the fresh prompt

assert PREFIX_TOKENS + VISIT_TOKENS + MAX_PROMPT_TOKENS <= CELLS


def probe_spec(
    widest: int,
    *,
    threads: int,
    kv_type: str,
    batch_tokens: int,
    prefix_tokens: int = PREFIX_TOKENS,
) -> ContextSpec:
    """The context of a probe whose steps have up to `widest` tokens."""
    return ContextSpec(
        cells=CELLS + prefix_tokens - PREFIX_TOKENS,
        n_seq=widest + 2,
        n_outputs=widest + 2,
        batch_tokens=min(MAX_PROMPT_TOKENS, max(batch_tokens, widest)),
        threads=threads,
        kv_type=kv_type,
    )


class Probe:
    """A context of `probe_spec` with sequences of random tokens in it.

    Every visit leaves the cache as it found it: the prefix and nothing else.
    """

    def __init__(self, context: Context, prefix_tokens: int = PREFIX_TOKENS) -> None:
        self._context = context
        self._prefix_tokens = prefix_tokens
        self._batch = Batch(context.spec.batch_tokens)
        self._fresh = context.spec.n_seq - 1
        random = np.random.default_rng(0)
        n = context.spec.cells
        self._tokens = random.integers(0, context.model.n_vocab, n, dtype=np.int32).tolist()
        self._begin()

    @property
    def most_prompt_tokens(self) -> int:
        """The longest prompt that a step holds."""
        return min(MAX_PROMPT_TOKENS, self._batch.capacity)

    def _begin(self) -> None:
        """Lay down the prefix; the first steps also warm caches and threads up."""
        for start in range(0, self._prefix_tokens, self._batch.capacity):
            piece = self._tokens[start : min(self._prefix_tokens, start + self._batch.capacity)]
            self._batch.clear()
            self._batch.add(_PREFIX, piece, start, 1)
            self._context.decode(self._batch)
        self.read_prompt(WARM_TOKENS)

    def read_prompt(self, n_tokens: int) -> float:
        """Read a prompt of its own and forget it; ms."""
        self._batch.clear()
        self._batch.add(self._fresh, self._tokens[:n_tokens], 0, 1)
        ms = self._step_ms(1)
        self._context.drop(self._fresh)
        return ms

    def sequences(self, width: int, visit_s: float) -> list[float]:
        """ms of the steps of a visit in which `width` sequences go on by one token each."""
        return self._go_on(range(1, 1 + width), 1, visit_s)

    def tokens(self, n: int, visit_s: float) -> list[float]:
        """ms of the steps of a visit in which one sequence goes on by n tokens, all with logits."""
        return self._go_on((1,), n, visit_s)

    def _go_on(self, sequences: Sequence[int], n_each: int, visit_s: float) -> list[float]:
        """At least three steps; the first pays for the change of size and does not count."""
        until = time.perf_counter() + visit_s
        size = len(sequences) * n_each
        for seq_id in sequences:
            self._context.share(_PREFIX, seq_id, self._prefix_tokens)
        steps_ms: list[float] = []
        for step in range(min(STEPS, VISIT_TOKENS // size)):
            self._batch.clear()
            position = self._prefix_tokens + step * n_each
            for i, seq_id in enumerate(sequences):
                first = step * size + i * n_each
                self._batch.add(seq_id, self._tokens[first : first + n_each], position, n_each)
            steps_ms.append(self._step_ms(size))
            if time.perf_counter() >= until and step > 1:
                break
        for seq_id in sequences:
            self._context.drop(seq_id)
        return steps_ms[1:]

    def _step_ms(self, n_outputs: int) -> float:
        started = time.perf_counter()
        self._context.decode(self._batch)
        self._context.logits(n_outputs)  # waits for the result
        return (time.perf_counter() - started) * 1000
