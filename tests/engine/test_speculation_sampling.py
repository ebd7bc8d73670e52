"""Guesses do not change what is drawn: the frequencies are those of plain sampling."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from vedette.engine.choose import Drawn, accept_or_draw

WANTED = np.array([0.5, 0.2, 0.15, 0.1, 0.05, 0.0])
GUESSED = {
    "like it": np.array([0.4, 0.3, 0.1, 0.1, 0.1]),
    "elsewhere": np.array([0.0, 0.0, 0.1, 0.3, 0.6]),
    "certain and wrong": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
    "the same": WANTED,
}
# The 99.9% quantile of chi-square with four degrees of freedom.
LIMIT = 18.47


@pytest.mark.parametrize("name", GUESSED)
def test_an_accepted_or_replaced_guess_has_the_distribution_wanted(name: str) -> None:
    random, guessed, n = np.random.default_rng(0), GUESSED[name], 20_000
    counts: Counter[int] = Counter()
    n_right = 0
    for _ in range(n):
        token = int(random.choice(guessed.size, p=guessed))
        got = accept_or_draw(WANTED, Drawn(token, guessed), random)
        counts[got] += 1
        n_right += got == token
    assert counts[5] == 0
    chi = sum((counts[i] - n * p) ** 2 / (n * p) for i, p in enumerate(WANTED[:5]))
    assert chi < LIMIT
    padded = np.pad(guessed, (0, 6 - guessed.size))
    assert n_right / n >= np.minimum(WANTED, padded).sum() - 0.02
