"""How far do logits move when nothing changes but the order of sums?

llama.cpp takes another path through its kernels for one row than for many, and the sums of
attention run over wherever the cells lie; rounded activations make that visible. This runs
without the engine: the plain prompt and answer through `llama_decode`, in three orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vedette.backends.local import LocalBackend
from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.types import Request

CHUNK = 128
"""Most tokens of the sequence in a step, and so most rows of logits."""


def gap_noise(backend: LocalBackend, request: Request, answer: Sequence[int]) -> float:
    """The most that a gap between the two likeliest tokens changes along an answer, in logits.

    The answer is decoded token by token, in as few steps as can be, and token by token beside
    another sequence whose cells lie in between.
    """
    prompt = list(backend.engine.tokenizer.encode(request.prompt).ids)
    runs = [
        _rows(backend, prompt, answer, step=step, company=company)
        for step, company in ((1, 0), (CHUNK, 0), (1, 7))
    ]
    top = np.argsort(runs[0], axis=1)[:, -2:]
    gaps = np.stack([np.diff(np.take_along_axis(rows, top, axis=1))[:, 0] for rows in runs])
    return float(np.ptp(gaps, axis=0).max())


def _rows(
    backend: LocalBackend, prompt: Sequence[int], answer: Sequence[int], *, step: int, company: int
) -> NDArray[np.float32]:
    """The logits that follow the prompt and each token of the answer.  # (n_answer + 1, n_vocab)

    `company` is how many tokens of another sequence are decoded in every step.
    """
    engine = backend.engine
    tokens = [*prompt, *answer]
    n = len(tokens)
    n_steps = len(prompt) // CHUNK + len(answer) // step + 2
    spec = ContextSpec(
        cells=n + company * n_steps + CHUNK, n_seq=2, batch_tokens=CHUNK + company, n_outputs=CHUNK
    )
    context = Context(engine.model, spec)
    try:
        batch = Batch(CHUNK + company)
        rows: list[NDArray[np.float32]] = []
        at = beside = 0
        while at < n:
            inside = at < len(prompt)
            size = min(CHUNK, len(prompt) - at) if inside else min(step, n - at)
            wanted = int(at + size == len(prompt)) if inside else size
            batch.clear()
            if company:
                batch.add(
                    1, [prompt[(beside + i) % len(prompt)] for i in range(company)], beside, 0
                )
                beside += company
            batch.add(0, tokens[at : at + size], at, wanted)
            context.decode(batch)
            if wanted:
                rows.append(context.logits(wanted).copy())
            at += size
        return np.concatenate(rows)
    finally:
        context.close()
