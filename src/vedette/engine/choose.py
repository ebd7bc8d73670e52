"""The next token of an answer, from logits and a mask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.types import Sampling

from .llama.context import Context
from .llama.sampler import SamplerChain
from .penalties import Penalties
from .sampling import MaskRow, Row, greedy, log_softmax_at, mask_in_place


@dataclass(frozen=True, slots=True)
class Drawn:
    """A guess that was drawn at random, and the distribution that it was drawn from."""

    token: int
    probabilities: NDArray[np.float64]  # (n_vocab of the draft or less,)


@dataclass(frozen=True, slots=True)
class Choice:
    """A token, its log-probability before the mask, and the gap to the runner-up under it.

    The numbers are 0 where they are not asked for; the gap is known for greedy choices only.
    """

    token: int
    logprob: float = 0.0
    gap: float = 0.0


class Chooser:
    """Greedy, or llama.cpp's sampler chain; one per sequence, since a chain has a state."""

    def __init__(self, sampling: Sampling, n_vocab: int, *, logprobs: bool) -> None:
        plain_greedy = sampling.temperature <= 0 and sampling.repeat_penalty == 1.0
        self._penalties = Penalties.of(sampling)
        self._chain = None if plain_greedy else SamplerChain(sampling, n_vocab)
        self._logprobs = logprobs
        self._random = np.random.default_rng((sampling.seed % 2**32, 1))

    def choose(
        self,
        row: Row,
        mask: MaskRow | None,
        context: Context | None,
        batch_index: int,
        drawn: Drawn | None = None,
    ) -> Choice:
        """The next token. Penalises and masks the row in place.

        Where no penalty is asked for and the best of all is allowed, the row stays as it is.

        With a guess that was `drawn` the token is that one as often as it can be; it is
        distributed as without.
        """
        raw = row.copy() if self._logprobs else None
        if self._penalties is not None:
            self._penalties.apply(row)
        if self._chain is None:
            token = greedy(row, mask)
            self._took(token)
            if raw is None:
                return Choice(token)
            mask_in_place(row, mask)
            best, second = np.partition(row, -2)[-2:][::-1]
            return Choice(token, log_softmax_at(raw, [token])[0], float(best - second))
        mask_in_place(row, mask)
        if drawn is not None:
            token = accept_or_draw(self._chain.probabilities(row), drawn, self._random)
            self._chain.accept(token)
        else:
            assert context is not None
            token = self._chain.sample(context, batch_index)
        self._took(token)
        return Choice(token, 0.0 if raw is None else log_softmax_at(raw, [token])[0])

    def accept(self, token: int) -> None:
        """Remember a token that was not chosen here."""
        if self._chain is not None:
            self._chain.accept(token)
        self._took(token)

    def restart(self, tokens: Iterable[int]) -> None:
        """The answer was taken back to these tokens."""
        if self._penalties is not None:
            self._penalties.restart(tokens)

    def _took(self, token: int) -> None:
        if self._penalties is not None:
            self._penalties.took(token)

    def close(self) -> None:
        """Free the chain; safe to call again."""
        if self._chain is not None:
            self._chain.close()


def accept_or_draw(wanted: NDArray[np.float64], drawn: Drawn, random: np.random.Generator) -> int:
    """A token distributed as `wanted`: the drawn one, or one of what it was drawn too seldom for.

    Rejection sampling of Leviathan, Kalman and Matias (2023), "Fast Inference from Transformers
    via Speculative Decoding": accepted with min(1, p / q), else drawn from max(0, p - q).
    """
    token, guessed = drawn.token, drawn.probabilities
    if random.random() * guessed[token] < wanted[token]:
        return token
    rest = wanted.copy()
    rest[: guessed.size] -= guessed
    np.maximum(rest, 0.0, out=rest)
    total = rest.sum()
    if total <= 0.0:  # equal but for rounding
        rest, total = wanted, wanted.sum()
    return int(np.searchsorted(np.cumsum(rest), random.random() * total, side="right"))
