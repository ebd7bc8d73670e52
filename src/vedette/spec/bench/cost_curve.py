"""What a step with guesses costs on a llama-server, measured with acceptance that is made up.

With every guess refused (`--spec-synth-rates 0,0,...`) each step writes one token, whatever was
guessed, so that all lengths write the same text in as many steps and their times can be compared:

    S(k) = T(k + 1) + k d + f        a draft model guesses k tokens
    S'(k) = T(k + 1)                 n-grams do, which costs next to nothing

T(n) is the target's step of n tokens, d the draft's time for a guess, f what comes with each step.
Relative to T(1) that is v(k + 1) + k c + f, the divisor of the speed-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vedette.backends.server_process import ServerOptions
from vedette.errors import InputError
from vedette.types import Json

from .prompts import BenchPrompt
from .sample import Sample
from .server_flags import parse_variants
from .server_side import ServerSide
from .side import Variant

SYNTHETIC = "--spec-synth-rates"
MOST = 31
NGRAM_SIZE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCurve:
    """Times of steps, in seconds. `plain_s` is a step without guesses.

    `with_ngram_s` and `with_draft_s` are steps with k guesses, by k. `draft_s` is d and `fixed_s`
    f, by least squares over the k that both have; None where no two have both.
    """

    plain_s: float
    with_ngram_s: dict[int, float]
    with_draft_s: dict[int, float]
    draft_s: float | None
    fixed_s: float | None

    @classmethod
    def fit(
        cls, plain_s: float, with_ngram_s: dict[int, float], with_draft_s: dict[int, float]
    ) -> CostCurve:
        """From the times of steps."""
        both = sorted(with_ngram_s.keys() & with_draft_s.keys())
        draft_s = fixed_s = None
        if len(both) >= 2:
            rest = np.array([with_draft_s[k] - with_ngram_s[k] for k in both])
            (slope, start), *_ = np.linalg.lstsq(
                np.array([(k, 1.0) for k in both]), rest, rcond=None
            )
            draft_s, fixed_s = float(slope), float(start)
        return cls(
            plain_s=plain_s,
            with_ngram_s=with_ngram_s,
            with_draft_s=with_draft_s,
            draft_s=draft_s,
            fixed_s=fixed_s,
        )

    def break_even(self, k: int) -> float | None:
        """So many of k guesses must be right, on the average of steps, for the draft to pay."""
        step_s = self.with_draft_s.get(k)
        return None if step_s is None else step_s / self.plain_s - 1

    def as_dict(self) -> dict[str, Json]:
        """As JSON: milliseconds, and v, c and f relative to a plain step."""
        relative: dict[str, Json] = {
            "v": {str(k + 1): round(s / self.plain_s, 4) for k, s in self.with_ngram_s.items()},
            "c": None if self.draft_s is None else round(self.draft_s / self.plain_s, 4),
            "f": None if self.fixed_s is None else round(self.fixed_s / self.plain_s, 4),
        }
        return {
            "plain_ms": round(self.plain_s * 1e3, 3),
            "with_ngram_ms": {str(k): round(s * 1e3, 3) for k, s in self.with_ngram_s.items()},
            "with_draft_ms": {str(k): round(s * 1e3, 3) for k, s in self.with_draft_s.items()},
            **relative,
        }


def measure_costs(
    program: Path,
    model: Path,
    draft: str | None,
    most: int,
    prompts: Sequence[BenchPrompt],
    options: ServerOptions,
    *,
    max_tokens: int,
    say: Callable[[str], None],
) -> CostCurve:
    """Start a server for each number of guesses, one after another, and time its steps.

    Prompts whose answers repeat them are best: n-grams then guess in nearly every step. Raises
    `CapabilityMissing` where the build has no made-up acceptance.
    """
    if not 1 <= most <= MOST:
        raise InputError(f"--cost-curve is {most}; it is the most guesses, from 1 to {MOST}")
    side = ServerSide(
        program,
        model,
        variants_of(most, draft),
        options,
        max_tokens=max_tokens,
        at_once=1,
    )
    side.require(SYNTHETIC)
    with_ngram_s: dict[int, float] = {}
    with_draft_s: dict[int, float] = {}
    plain_s = 0.0
    try:
        for variant in side.variants:
            samples = [side.ask(variant, prompt) for prompt in prompts]
            kind, _, k = variant.name.partition(" ")
            step_s = _step_s(samples, plain_s)
            if kind == "plain":
                plain_s = sum(s.seconds for s in samples) / max(1, sum(s.tokens for s in samples))
                step_s = plain_s
            elif step_s is not None:
                (with_ngram_s if kind == "ngram" else with_draft_s)[int(k)] = step_s
            say(f"{variant.name}: " + (f"{step_s * 1e3:.1f} ms" if step_s else "nothing guessed"))
    finally:
        side.close()
    return CostCurve.fit(plain_s, with_ngram_s, with_draft_s)


def variants_of(most: int, draft: str | None) -> tuple[Variant, ...]:
    """Plain, then n-grams and the draft with 1 to `most` guesses, every one of them refused."""
    texts = ["plain"]
    for k in range(1, most + 1):
        rates = f"{SYNTHETIC} {','.join('0' * k)}"
        texts.append(
            f"ngram {k}: --spec-type ngram-mod --spec-ngram-mod-n-match {NGRAM_SIZE} "
            f"--spec-ngram-mod-n-min 1 --spec-ngram-mod-n-max {k} {rates}"
        )
        if draft is not None:
            texts.append(
                f"draft {k}: -md {draft} --spec-type draft-simple --spec-draft-n-max {k} {rates}"
            )
    return parse_variants(texts)


def _step_s(samples: Sequence[Sample], plain_s: float) -> float | None:
    """The time of a step with guesses; steps without are taken to be plain. None without any."""
    n_guessing = sum(sample.positions[0][0] for sample in samples if sample.positions)
    n_steps = sum(sample.steps for sample in samples)
    if not n_guessing:
        return None
    seconds = sum(sample.seconds for sample in samples)
    # The first tokens of an answer may come before there is anything to guess from.
    return (seconds - max(0, n_steps - n_guessing) * plain_s) / n_guessing
