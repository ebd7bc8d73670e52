"""Brings a constrained answer to a legal end within its budget."""

from __future__ import annotations

from vedette.errors import BudgetTooSmall

from .constraint.matcher import Matcher

SEARCH_LIMIT = 4096
"""The longest ending that is looked for, in tokens."""

MARGIN, COMMITMENTS = 64, 4
"""Looks begin when so many tokens are left, and so many times what one token can commit to."""


class Steering:
    """Looks ahead before each token that is taken: can the answer still end in time?

    While there is plenty of room it does not look: a look costs about a millisecond. Where no way
    to an end can be found at all (some grammars), it does nothing.
    """

    def __init__(self, matcher: Matcher, max_tokens: int) -> None:
        self._matcher = matcher
        self._way: tuple[int, ...] | None = None
        self._is_current = False
        self._due_left = MARGIN + COMMITMENTS * matcher.commitment_tokens
        self._is_lost = False
        if max_tokens > self._due_left:
            return
        self._way = matcher.first_ending(SEARCH_LIMIT)
        if self._way is None:
            self._is_lost = True
            return
        least = len(self._way)
        if least > max_tokens:
            raise BudgetTooSmall(
                f"max_tokens is {max_tokens}, and an answer needs {least} tokens at least",
                hint=f"raise max_tokens to {least} or more",
            )
        self._is_current = True
        self._plan(max_tokens)

    def ending_instead_of(self, token: int, n_left: int) -> tuple[int, ...] | None:
        """The tokens that end the answer now, where `token` would leave no time to; else None.

        `n_left` is how many tokens may still be written, this one included.
        """
        if self._is_lost:
            return None
        if n_left > self._due_left:
            self._is_current = False
            return None
        way = self._matcher.ending(n_left - 1, after=token)
        if way is not None:
            self._way, self._is_current = way, True
            self._plan(n_left - 1)
            return None
        return self._way if self._is_current else self._matcher.ending(n_left)

    def restart(self) -> None:
        """The answer was taken back to an earlier place: nothing is known about it."""
        self._is_current, self._due_left = False, SEARCH_LIMIT

    def took_forced(self, n_tokens: int) -> None:
        """The grammar forced these tokens, so they were the beginning of the known way."""
        if self._way is not None:
            self._way = self._way[n_tokens:]

    def _plan(self, n_left: int) -> None:
        """When to look next."""
        assert self._way is not None
        step = self._matcher.commitment_tokens
        room = n_left - len(self._way) - MARGIN - step
        self._due_left = n_left - max(0, room) // max(8, step)
