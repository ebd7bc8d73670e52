"""A short measurement: how fast prompts are read, and how fast 1 to 16 sequences go on.

The tokens are random: speed does not depend on what they mean. Visits to the prompt and to each
width take turns, so that another process's burst does not fall on one of them alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import numpy as np

from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model

from .timings import Measurement, Pace, fitting_prompt_tokens

WIDTHS = (1, 2, 4, 8, 16)
ROUNDS = 4  # what the time is planned for; a fast model gets longer visits, not more of them
PREFIX_TOKENS = 32  # what every sequence already holds when it goes on
STEPS = 32  # the most that a sequence goes on before it starts again
WARM_TOKENS = 16
_PREFIX, _FRESH = 0, 1 + max(WIDTHS)  # sequence ids; those between them go on
MAX_PROMPT_TOKENS = 256
CELLS = 1024  # holds the prefix, the widest visit and the longest prompt

assert PREFIX_TOKENS + max(WIDTHS) * STEPS + MAX_PROMPT_TOKENS <= CELLS


def measure(
    path: Path, *, seconds: float, threads: int, kv_type: str = "f16", batch_tokens: int = 256
) -> Measurement:
    """Load the model and measure it for about `seconds`, the loading not counted.

    The prompt and one sequence are always measured; widths for which the time is too short are
    left out. Raises `ModelNotFound`, `ModelCorrupt` or `EngineFailed`.
    """
    started = time.perf_counter()
    spec = ContextSpec(
        cells=CELLS,
        n_seq=_FRESH + 1,
        n_outputs=_FRESH + 1,
        batch_tokens=min(MAX_PROMPT_TOKENS, max(batch_tokens, *WIDTHS)),
        threads=threads,
        kv_type=kv_type,
    )
    with ExitStack() as stack:
        model = stack.enter_context(closing(Model(path)))
        context = stack.enter_context(closing(Context(model, spec)))
        load_s = time.perf_counter() - started
        prefill, decode, prompt_tokens = _Probe(context).run(seconds)
        return Measurement(
            description=model.description,
            threads=threads,
            load_s=load_s,
            prompt_tokens=prompt_tokens,
            prefill=prefill,
            decode=decode,
        )


class _Probe:
    """A context with sequences of random tokens in it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._batch = Batch(context.spec.batch_tokens)
        random = np.random.default_rng(0)
        self._tokens = random.integers(0, context.model.n_vocab, CELLS, dtype=np.int32).tolist()

    def run(self, seconds: float) -> tuple[Pace, tuple[Pace, ...], int]:
        """Visit everything in turn until the time is up: prompt, widths, tokens of the prompt."""
        deadline = time.perf_counter() + seconds
        visit_s = seconds / (ROUNDS * (1 + len(WIDTHS)))
        self._begin()
        warm_ms = self._read_prompt(WARM_TOKENS)
        n = fitting_prompt_tokens(
            WARM_TOKENS, warm_ms, visit_s * 1000, min(MAX_PROMPT_TOKENS, self._batch.capacity)
        )
        visits: dict[int, Callable[[], float]] = {0: lambda: self._read_prompt(n)}
        for width in WIDTHS:
            visits[width] = self._visit(width, visit_s)
        found: dict[int, list[float]] = {key: [] for key in visits}
        while True:
            for key, visit in visits.items():
                if time.perf_counter() >= deadline and found[0] and found[1]:
                    paces = {key: Pace.of(key or n, ms) for key, ms in found.items() if ms}
                    return paces.pop(0), tuple(paces.values()), n
                found[key].append(visit())

    def _begin(self) -> None:
        """Lay down the prefix; the first steps also warm caches and threads up."""
        for start in range(0, PREFIX_TOKENS, self._batch.capacity):
            piece = self._tokens[start : min(PREFIX_TOKENS, start + self._batch.capacity)]
            self._batch.clear()
            self._batch.add(_PREFIX, piece, start, 1)
            self._context.decode(self._batch)
        self._read_prompt(WARM_TOKENS)

    def _read_prompt(self, n_tokens: int) -> float:
        """Read a prompt of its own and forget it; ms."""
        self._batch.clear()
        self._batch.add(_FRESH, self._tokens[:n_tokens], 0, 1)
        ms = self._step_ms()
        self._context.drop(_FRESH)
        return ms

    def _visit(self, width: int, visit_s: float) -> Callable[[], float]:
        return lambda: self._go_on(width, visit_s)

    def _go_on(self, width: int, visit_s: float) -> float:
        """Median ms of a step in which `width` sequences go on by one token each."""
        until = time.perf_counter() + visit_s
        sequences = range(1, 1 + width)
        for seq_id in sequences:
            self._context.share(_PREFIX, seq_id, PREFIX_TOKENS)
        steps_ms: list[float] = []
        for step in range(STEPS):
            self._batch.clear()
            for seq_id in sequences:
                token = self._tokens[step * width + seq_id]
                self._batch.add(seq_id, [token], PREFIX_TOKENS + step, 1)
            steps_ms.append(self._step_ms())
            if time.perf_counter() >= until and step > 0:
                break
        for seq_id in sequences:
            self._context.drop(seq_id)
        return median(steps_ms[1:])  # the first step pays for the change of width

    def _step_ms(self) -> float:
        started = time.perf_counter()
        self._context.decode(self._batch)
        self._context.logits(1)  # waits for the result
        return (time.perf_counter() - started) * 1000
