"""The short way out: tokens that bring a grammar from where it stands to a legal end.

llguidance tells what may come next, not how far the end is. What is found here is an upper
bound: a beam search that prefers tokens which close what is open. Every ending is legal, since
each of its tokens was allowed by the grammar; the shortest one it may miss by a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from llguidance import LLMatcher
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from numpy.typing import NDArray

SHORTLIST = 4096
"""Tokens that are looked at first; nearly always one of them may follow."""

MOST_STEPS = 1500
"""Bound on the work of one search, in tokens tried."""

# Where a text stands, in the terms of JSON; in other grammars that is only a guess.
OUTSIDE, INSIDE, IN_NUMBER = 0, 1, 2
_STATES = (OUTSIDE, INSIDE, IN_NUMBER)

_QUOTE, _BACKSLASH = b'"\\'
_DIGITS = frozenset(b"0123456789")
_CLOSING = frozenset(b'"}])')


def _per_byte(other: float, **groups: float) -> NDArray[np.float32]:
    table = np.full(256, other, np.float32)
    for name, cost in groups.items():
        table[list(_GROUPS[name])] = cost
    return table


_GROUPS = {
    "closers": b"}])",
    "openers": b"{[(",
    "separators": b",:",
    "spaces": b" \t\r\n",
    "stops": b";.!?",
    "signs": b"-+eE",
    "digits": b"0123456789",
    "letters": b"abcdefghijklmnopqrstuvwxyz",
    "escape": b"\\",
}
_FAR, _NEAR = {"openers": 5.0, "separators": 4.0, "spaces": 3.0}, {"closers": -4.0, "stops": -1.0}
# What a byte is worth: closing ends things, separating and opening begin more.
_COSTS = {
    OUTSIDE: _per_byte(0.5, **_FAR, **_NEAR, signs=1.5),
    # A number can go on for ever, so that what follows it is nearer to the end.
    IN_NUMBER: _per_byte(0.5, **_FAR, **_NEAR, signs=6.0, digits=5.0),
    # A string that may not end yet needs characters, so that longer tokens are better.
    INSIDE: _per_byte(0.0, letters=-0.1, escape=6.0),
}
_BEGUN = _per_byte(0.2, escape=6.0)  # one that is only begun needs none
_LEFT_OPEN = 8.0


@dataclass(frozen=True, slots=True)
class _Costs:
    """What each token costs where a text stands so, and how it stands afterwards."""

    cost: NDArray[np.float32]  # (n_vocab,); infinite for tokens that no ending may use
    after: NDArray[np.int8]  # (n_vocab,)
    shortlist: NDArray[np.intp]  # the cheapest tokens, in order


@dataclass(frozen=True, slots=True)
class _Path:
    """A way from the start of a search; its matcher stands at the end of `tokens`."""

    matcher: LLMatcher
    tokens: tuple[int, ...]
    state: int
    cost: float


class Endings:
    """Finds endings for one vocabulary.

    `pieces` are the bytes of each token, b"" for control tokens, which no ending uses.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self._costs = [_costs(pieces, state) for state in _STATES]
        self._ends_string = _made_of(pieces, b'"', _CLOSING)
        self._closes = _made_of(pieces, b"}])", _CLOSING)
        self._separates = _made_of(pieces, b",", frozenset())

    def find(
        self, start: LLMatcher, limit: int, *, state: int = OUTSIDE, width: int = 1
    ) -> tuple[int, ...] | None:
        """The shortest ending found, of at most `limit` tokens; None if there is none so short.

        `start` is not moved; `state` says how the text before it stands (see `state_after`). Of
        the paths of a step the `width` most promising ones go on.
        """
        # Its own: requests are looked at in their callers' threads, too, while the engine steps.
        mask = allocate_token_bitmask(1, len(self._pieces))
        paths = [_Path(start.deep_copy(), (), state, 0.0)]
        best: tuple[int, ...] | None = None
        steps = 0
        while paths and steps < MOST_STEPS:
            grown: list[_Path] = []
            for path in paths:
                most = limit if best is None else len(best) - 1
                forced = self._forced(path)
                if forced is None or len(forced.tokens) > most:
                    continue
                if forced.matcher.is_accepting():
                    best = forced.tokens
                elif len(forced.tokens) < most:
                    grown += self._branches(forced, width, mask)
            steps += len(grown)
            paths = sorted(grown, key=lambda path: path.cost)[:width]
        return best

    def closing(self, mask: NDArray[np.int32], state: int) -> NDArray[np.intp]:
        """The allowed tokens that end what the text stands in: a string, a list, a number."""
        if state == INSIDE:
            return self._ends_string[_allowed(mask, self._ends_string)]
        found = self._closes[_allowed(mask, self._closes)]
        return found if found.size else self._separates[_allowed(mask, self._separates)]

    def state_after(self, token: int, state: int) -> int:
        """How a text stands after a token more."""
        return int(self._costs[state].after[token])

    def _forced(self, path: _Path) -> _Path | None:
        """The path with all that the grammar forces; None if the engine gave up."""
        if path.matcher.is_accepting():
            return path
        tokens = path.matcher.compute_ff_tokens()
        if not tokens:
            return path
        if path.matcher.try_consume_tokens(tokens) != len(tokens) or path.matcher.is_error():
            return None
        state = path.state
        for token in tokens:
            state = self.state_after(token, state)
        return _Path(path.matcher, (*path.tokens, *tokens), state, path.cost)

    def _branches(self, path: _Path, width: int, mask: NDArray[np.int32]) -> list[_Path]:
        """The `width` cheapest single tokens that may follow."""
        fill_next_token_bitmask(path.matcher, mask, 0)
        if path.matcher.is_error():
            return []
        costs = self._costs[path.state]
        allowed = costs.shortlist[_allowed(mask[0], costs.shortlist)][:width]
        if not allowed.size:
            everything = np.arange(costs.cost.size)
            possible = everything[_allowed(mask[0], everything)]
            allowed = possible[np.argsort(costs.cost[possible])[:width]]
        found = []
        for token in map(int, allowed):
            if not np.isfinite(costs.cost[token]):
                continue
            matcher = path.matcher if allowed.size == 1 else path.matcher.deep_copy()
            if matcher.consume_token(token):
                cost = path.cost + 1.0 + float(costs.cost[token])
                found.append(_Path(matcher, (*path.tokens, token), int(costs.after[token]), cost))
        return found


def _made_of(pieces: Sequence[bytes], first: bytes, others: frozenset[int]) -> NDArray[np.intp]:
    """The tokens that begin with one of these bytes and go on with the others."""
    found = [
        token
        for token, piece in enumerate(pieces)
        if piece and piece[0] in first and others.issuperset(piece[1:])
    ]
    return np.asarray(found, np.intp)


def state_after(piece: bytes, state: int) -> int:
    """How a text stands after more of it: outside of strings, inside of one, or in a number.

    A piece that ends within an escape is taken to be complete; none that an ending uses is.
    """
    inside, escaped = state == INSIDE, False
    for byte in piece:
        if escaped:
            escaped = False
        elif byte == _QUOTE:
            inside = not inside
        elif byte == _BACKSLASH and inside:
            escaped = True
    if inside:
        return INSIDE
    if not piece:
        return state
    return IN_NUMBER if piece[-1] in _DIGITS or piece[-1:] == b"." else OUTSIDE


def _costs(pieces: Sequence[bytes], state: int) -> _Costs:
    """Sums over the bytes of each token; those with quotes are gone through one by one."""
    lengths = np.fromiter(map(len, pieces), np.intp, len(pieces))
    bytes_ = np.frombuffer(b"".join(pieces), np.uint8)
    ends = np.cumsum(lengths)
    sums = np.concatenate(([0.0], np.cumsum(_COSTS[state][bytes_], dtype=np.float64)))
    cost = (sums[ends] - sums[ends - lengths]).astype(np.float32)
    last = bytes_[np.maximum(ends - 1, 0)]
    in_number = np.isin(last, [*_DIGITS, ord(".")])
    outside = np.where(in_number, IN_NUMBER, OUTSIDE)
    after = np.where(state == INSIDE, INSIDE, outside).astype(np.int8)
    if state == INSIDE:
        cost += _LEFT_OPEN
    for token, piece in enumerate(pieces):
        if _QUOTE in piece:
            cost[token], after[token] = _cost(piece, state), state_after(piece, state)
    cost[lengths == 0] = np.inf
    return _Costs(cost, after, np.argsort(cost, kind="stable")[:SHORTLIST])


def _cost(piece: bytes, state: int) -> float:
    """What a token with quotes is worth."""
    cost, inside, strings = 0.0, state == INSIDE, _COSTS[INSIDE]
    for byte in piece:
        if byte == _QUOTE:
            inside, strings = not inside, _BEGUN
        elif inside:
            cost += float(strings[byte])
        else:
            cost += float(_COSTS[OUTSIDE if state == INSIDE else state][byte])
    return cost + (_LEFT_OPEN if inside else 0.0)


def _allowed(mask: NDArray[np.int32], tokens: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the tokens a mask has a bit for."""
    bits: NDArray[np.bool_] = ((mask[tokens >> 5] >> (tokens & 31)) & 1).astype(np.bool_)
    return bits
