"""Tokens made less likely by how often the answer has them, or likelier by request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from vedette.errors import InputError
from vedette.types import Sampling

from .sampling import Row


def check_tokens(sampling: Sampling, n_vocab: int) -> None:
    """Raise `InputError` for a bias on what is no token of the model."""
    for token, _ in sampling.logit_bias:
        if not 0 <= token < n_vocab:
            raise InputError(
                f"logit_bias: {token} is no token of this model: they are 0 to {n_vocab - 1}"
            )


class Penalties:
    """Follows one answer. The formula is that of OpenAI's API reference, for a token j:

    logit[j] + logit_bias[j] - (c[j] > 0) * presence_penalty - c[j] * frequency_penalty

    where c[j] is how often j is in the answer so far.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._presence = sampling.presence_penalty
        self._frequency = sampling.frequency_penalty
        self._biased = np.array([token for token, _ in sampling.logit_bias], np.intp)
        self._biases = np.array([bias for _, bias in sampling.logit_bias], np.float32)
        self._counts: Counter[int] = Counter()

    @staticmethod
    def of(sampling: Sampling) -> Penalties | None:
        """For a sampling that has any; else None."""
        has_any = sampling.presence_penalty or sampling.frequency_penalty or sampling.logit_bias
        return Penalties(sampling) if has_any else None

    def apply(self, row: Row) -> None:
        """Change the logits of the next token in place."""
        row[self._biased] += self._biases  # each token is there once
        if self._counts and (self._presence or self._frequency):
            tokens = np.fromiter(self._counts.keys(), np.intp)
            counts = np.fromiter(self._counts.values(), np.float32)
            row[tokens] -= np.float32(self._presence) + np.float32(self._frequency) * counts

    def took(self, token: int) -> None:
        """A token has become part of the answer."""
        self._counts[token] += 1

    def restart(self, tokens: Iterable[int]) -> None:
        """The answer was taken back to these tokens."""
        self._counts = Counter(tokens)
