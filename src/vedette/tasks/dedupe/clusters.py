"""Which rows say the same, each by its representative: the first row of its cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

How: TypeAlias = Literal["exact", "near", "model"]


@dataclass(frozen=True, slots=True)
class GreyPair:
    """Two representatives, the earlier row first, that rules alone cannot tell apart or equal."""

    first: int
    second: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of a grey pair, and the probability that its rows are the same thing."""

    first: int
    second: int
    probability: float
    same: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row is. Rows are numbers from 0, in input order.

    `how` is None for a representative. `score` is 1 for `exact`, the similarity to the
    representative for `near`, the probability for `model`. `via` is the row through which a row
    came to its representative, where that is another one.
    """

    representative: int
    how: How | None = None
    score: float = 1.0
    via: int | None = None


@dataclass(frozen=True, slots=True)
class Clusters:
    """The place of each row, and the pairs that are left to be judged.

    `crowded`: how many buckets were full; pairs that share no other bucket may have been missed.
    """

    places: tuple[Place, ...]
    grey: tuple[GreyPair, ...] = ()
    crowded: int = 0

    def count(self, how: How | None) -> int:
        """Rows that came to their place in this way; None counts the representatives."""
        return sum(place.how == how for place in self.places)

    def merged(self, verdicts: Iterable[Verdict]) -> Clusters:
        """The clusters after a judgement of grey pairs, the surest first.

        Two clusters become one (union-find) only if each representative that is to give up its
        place was itself judged the same as the one that stays. So a chain A = B, B = C does not
        bring C to A.
        """
        same = {(v.first, v.second): v.probability for v in verdicts if v.same}
        head: dict[int, int] = {}
        members: dict[int, list[int]] = {}
        for first, second in sorted(same, key=lambda pair: (-same[pair], pair)):
            stays, goes = sorted((head.get(first, first), head.get(second, second)))
            joining = members.get(goes, [goes])
            if stays == goes or not all((stays, member) in same for member in joining):
                continue
            members[stays] = [*members.get(stays, [stays]), *joining]
            head.update(dict.fromkeys(joining, stays))
        places = [_moved(row, place, head, same) for row, place in enumerate(self.places)]
        return replace(self, places=tuple(places))


def _moved(
    row: int, place: Place, head: dict[int, int], same: dict[tuple[int, int], float]
) -> Place:
    old = place.representative
    new = head.get(old, old)
    if new == old:
        return place
    return Place(new, "model", same[new, old], via=None if row == old else old)
