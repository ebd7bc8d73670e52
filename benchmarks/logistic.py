"""Logistic regression with a ridge, for few rows of many values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEPS = 25
CLOSE = 1e-4


def fit_logistic(
    rows: NDArray[np.float64], labels: NDArray[np.bool_], shares: NDArray[np.float64], ridge: float
) -> tuple[NDArray[np.float64], float]:
    """Weights  # (n_values,)  and bias whose `rows @ weights + bias` are log odds of the label.

    `shares` say how much each row counts. The ridge is on weights for values of a spread of 1. By
    Newton's method on the dual (iteratively reweighted least squares; Hastie, Tibshirani and
    Friedman 2009, section 4.4.1), which costs a system of as many unknowns as there are rows.
    """
    mean, spread = rows.mean(axis=0), rows.std(axis=0).mean()
    scaled = (rows - mean) / (spread * np.sqrt(rows.shape[1]))
    likeness = scaled @ scaled.T  # (n_rows, n_rows)
    n = len(labels)
    system = np.ones((n + 1, n + 1))
    system[n, n] = 0.0
    dual, bias = np.zeros(n), 0.0
    for _ in range(STEPS):
        odds = likeness @ dual + bias
        chance = 1 / (1 + np.exp(-np.clip(odds, -40, 40)))
        curve = np.maximum(shares * chance * (1 - chance), 1e-4)
        system[:n, :n] = likeness
        system[np.arange(n), np.arange(n)] += ridge / curve
        wanted = np.append(odds + shares * (labels - chance) / curve, 0.0)
        solved = np.linalg.solve(system, wanted)
        moved = float(np.abs(solved[:n] - dual).max())
        dual, bias = solved[:n], float(solved[n])
        if moved < CLOSE:
            break
    weights = scaled.T @ dual / (spread * np.sqrt(rows.shape[1]))
    return weights, bias - float(weights @ mean)
