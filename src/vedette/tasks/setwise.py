"""Leaders compared a few at a time: which places are still open, and what a comparison moves."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from vedette.decide.closed import decide, normalised

SET_SIZE = 3


def open_groups(
    leaders: Sequence[int], scores: Sequence[float], top: int, most: float
) -> list[list[int]]:
    """The leaders whose order a comparison could still change, in overlapping groups.

    `leaders` are indices into `scores`, highest first; those after the first `top` are there only
    because they may rise. A comparison adds at most `most` and takes away at most as much, so
    two neighbours further apart than twice that are settled. What lies between two such gaps is
    compared, at most `SET_SIZE` at a time, each group beginning with the last of the one before.
    """
    runs: list[list[int]] = []
    for place, leader in enumerate(leaders):
        if place and scores[leaders[place - 1]] - scores[leader] <= 2 * most:
            runs[-1].append(leader)
        else:
            runs.append([leader])
    wanted = set(leaders[:top])
    return [
        run[i : i + SET_SIZE]
        for run in runs
        if run[0] in wanted
        for i in range(0, len(run) - 1, SET_SIZE - 1)
    ]


def turned(group: Sequence[int]) -> list[list[int]]:
    """The orders in which a group is shown: each member stands once in each place."""
    return [[*group[n:], *group[:n]] for n in range(len(group))]


def mean_shifts(
    groups: Sequence[Sequence[int]], rows: Sequence[Sequence[float]], most: float
) -> dict[int, float]:
    """What the comparisons add to each member: the mean over the groups that it was in.

    `rows` are the log-probabilities of the places, a row for each of a group's `turned` orders.
    As each member stood in each place, a leaning to one of them falls out of the mean.
    """
    found: dict[int, list[float]] = {}
    left = iter(rows)
    for group in groups:
        own: dict[int, list[float]] = {}
        for order in turned(group):
            for member, logprob in zip(order, normalised(next(left)), strict=True):
                own.setdefault(member, []).append(logprob)
        p = decide([str(member) for member in own], list(map(fmean, own.values()))).probabilities
        for member, shift in zip(own, shifts(p, most), strict=True):
            found.setdefault(member, []).append(shift)
    return {member: fmean(values) for member, values in found.items()}


def shifts(probabilities: Sequence[float], most: float) -> list[float]:
    """What one comparison adds: 0 at even odds, `most` to a certain winner."""
    n = len(probabilities)
    return [most * (p - 1 / n) * n / (n - 1) for p in probabilities]
