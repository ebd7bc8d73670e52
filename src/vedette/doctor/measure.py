"""A short measurement: how fast prompts are read, and how fast 1 to 16 sequences go on.

Visits to the prompt and to each width take turns, so that another process's burst does not fall
on one of them alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from statistics import median

from vedette.engine.llama.context import Context
from vedette.engine.llama.model import Model

from .probe import WARM_TOKENS, Probe, probe_spec
from .timings import Measurement, Pace, fitting_prompt_tokens

WIDTHS = (1, 2, 4, 8, 16)
ROUNDS = 4  # what the time is planned for; a fast model gets longer visits, not more of them


def measure(
    path: Path, *, seconds: float, threads: int, kv_type: str = "f16", batch_tokens: int = 256
) -> Measurement:
    """Load the model and measure it for about `seconds`, the loading not counted.

    The prompt and one sequence are always measured; widths for which the time is too short are
    left out. Raises `ModelNotFound`, `ModelCorrupt` or `EngineFailed`.
    """
    started = time.perf_counter()
    spec = probe_spec(max(WIDTHS), threads=threads, kv_type=kv_type, batch_tokens=batch_tokens)
    with ExitStack() as stack:
        model = stack.enter_context(closing(Model(path)))
        context = stack.enter_context(closing(Context(model, spec)))
        load_s = time.perf_counter() - started
        prefill, decode, prompt_tokens = _visit_all(context, seconds)
        return Measurement(
            description=model.description,
            threads=threads,
            load_s=load_s,
            prompt_tokens=prompt_tokens,
            prefill=prefill,
            decode=decode,
        )


def _median_step(probe: Probe, width: int, visit_s: float) -> float:
    return median(probe.sequences(width, visit_s))


def _visit_all(context: Context, seconds: float) -> tuple[Pace, tuple[Pace, ...], int]:
    """Visit everything in turn until the time is up: prompt, widths, tokens of the prompt."""
    deadline = time.perf_counter() + seconds
    visit_s = seconds / (ROUNDS * (1 + len(WIDTHS)))
    probe = Probe(context)
    warm_ms = probe.read_prompt(WARM_TOKENS)
    n = fitting_prompt_tokens(WARM_TOKENS, warm_ms, visit_s * 1000, probe.most_prompt_tokens)
    visits: dict[int, Callable[[], float]] = {0: partial(probe.read_prompt, n)}
    for width in WIDTHS:
        visits[width] = partial(_median_step, probe, width, visit_s)
    found: dict[int, list[float]] = {key: [] for key in visits}
    while True:
        for key, visit in visits.items():
            if time.perf_counter() >= deadline and found[0] and found[1]:
                paces = {key: Pace.of(key or n, ms) for key, ms in found.items() if ms}
                return paces.pop(0), tuple(paces.values()), n
            found[key].append(visit())
