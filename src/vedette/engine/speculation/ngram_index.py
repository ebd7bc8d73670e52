"""Where a text has gone on before as it goes on now."""

from __future__ import annotations

from dataclasses import dataclass, field

LEAST_MATCH = 2
MOST_MATCH = 32
NEWEST = 8
"""So many of the latest places with the same two tokens are compared."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a text goes on as another place did: tokens from `at` on, `n_match` before it alike."""

    at: int
    n_match: int


@dataclass(slots=True)
class NgramIndex:
    """The places of every two neighbouring tokens of a sequence, grown with it.

    Prompt lookup (Saxena 2023, "Prompt Lookup Decoding") with the longest of the latest matches.
    """

    _places: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _n_seen: int = 0

    def find(self, tokens: list[int]) -> Found | None:
        """The place most like the end of `tokens`, which must have grown since the last call.

        Of the latest places with the last two tokens the one with the longest match, up to
        `MOST_MATCH` tokens; the latest of equals. None where these two never stood before.
        """
        if len(tokens) < self._n_seen:  # an answer was taken back: its end is another now
            self._places.clear()
            self._n_seen = 0
        self._grow(tokens)
        if len(tokens) < LEAST_MATCH:
            return None
        places = self._places.get((tokens[-2], tokens[-1]))
        if not places:
            return None
        best = Found(0, 0)
        for at in reversed(places[-NEWEST:]):
            n_match = _n_alike(tokens, at)
            if n_match > best.n_match:
                best = Found(at, n_match)
        return best

    def _grow(self, tokens: list[int]) -> None:
        """Note all places but the very end, which would find itself."""
        for at in range(max(LEAST_MATCH, self._n_seen), len(tokens)):
            self._places.setdefault((tokens[at - 2], tokens[at - 1]), []).append(at)
        self._n_seen = max(self._n_seen, len(tokens))


def _n_alike(tokens: list[int], at: int) -> int:
    """How many tokens before `at` are those before the end, `MOST_MATCH` at most."""
    n, most = LEAST_MATCH, min(MOST_MATCH, at)
    while n < most and tokens[at - 1 - n] == tokens[-1 - n]:
        n += 1
    return n


def continuation(tokens: list[int], at: int, n: int) -> list[int]:
    """The `n` tokens from `at` on; past the end it goes on with itself, as a repetition does."""
    period = len(tokens) - at
    return [tokens[at + i % period] for i in range(n)]
