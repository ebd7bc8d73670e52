"""One sequence's place in a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from llguidance import LLExecutor, LLMatcher, LLTokenizer
from llguidance.numpy import (
    allocate_token_bitmask,
    fill_next_token_bitmask,
    fill_next_token_bitmask_par,
)
from numpy import int32
from numpy.typing import NDArray

from vedette.errors import ConstraintFailed
from vedette.schema_report import SchemaReport

from .ending import OUTSIDE, Endings
from .json_schema import Fault, SchemaGrammar

WIDTH, SHORT_TOKENS = 4, 64
"""Beam of the search for the least that an answer can take, where that is not much."""


@dataclass(eq=False, slots=True)
class Compiled:
    """A constraint at its start, for many requests. `schema` is there if it is a schema's.

    `commitment_tokens` is about how much a single token can oblige an answer to write.
    """

    start: LLMatcher
    tokenizer: LLTokenizer
    commitment_tokens: int
    schema: SchemaGrammar | None = None
    first_endings: dict[int, tuple[int, ...] | None] = field(default_factory=dict)


class Matcher:
    """Says which tokens may come next, takes them, and names those that must come.

    Every method raises `ConstraintFailed` when llguidance has given up (limits, internal
    error): the request then ends with that error, never with a free token.
    """

    def __init__(self, compiled: Compiled, endings: Endings) -> None:
        self._compiled = compiled
        self._schema = compiled.schema
        self._endings = endings
        self._inner = compiled.start.deep_copy()
        self._state = OUTSIDE

    def _check(self) -> None:
        if self._inner.is_error():
            reason = self._inner.get_error().strip().split("\n", 1)[0]
            raise ConstraintFailed(
                f"the constraint engine gave up: {reason}",
                hint="simplify the schema or grammar",
            )

    @property
    def inner(self) -> LLMatcher:
        """llguidance's matcher, for the batched mask computation."""
        return self._inner

    def check(self) -> None:
        """Raise if llguidance has given up; a mask that it computed is void then."""
        self._check()

    def accept(self, token: int) -> None:
        """Take a token of the answer."""
        self._inner.consume_token(token)
        self._check()
        self._state = self._endings.state_after(token, self._state)

    def forced(self) -> list[int]:
        """Tokens that the grammar leaves no choice about; not yet accepted.

        llguidance cuts the forced bytes back to where the model's own tokenisation of them is
        settled, so that the split is the one the model would have written.
        """
        tokens = self._inner.compute_ff_tokens()
        self._check()
        return list(tokens)

    def fork(self) -> Matcher:
        """Another one at the same place, which goes its own way."""
        twin = Matcher(self._compiled, self._endings)
        twin._inner, twin._state = self._inner.deep_copy(), self._state
        return twin

    def n_legal(self, tokens: Sequence[int]) -> int:
        """How many of these could be written one after the other from here."""
        return int(self._inner.validate_tokens(list(tokens)))

    @property
    def report(self) -> SchemaReport | None:
        """What became of each keyword of the schema, if a schema it is."""
        return self._schema.report if self._schema else None

    @property
    def is_final(self) -> bool:
        """Whether all that the grammar lets through is an answer, without a check."""
        return self._schema is None or self._schema.is_final

    def fault_of(self, text: str) -> Fault | None:
        """What is wrong with a finished text that the grammar could not say; None if nothing is.

        Raises `ConstraintFailed` for one that is not even JSON under a schema, and for bytes that
        the grammar took but no text holds (they read as U+FFFD).
        """
        if self._schema is not None:
            return self._schema.fault_of(text)
        if "\ufffd" in text and not self.is_whole(text):
            raise ConstraintFailed(
                "the grammar led to bytes that are no text",
                hint="leave out what lets them through: a complement (~), or bytes beyond UTF-8",
            )
        return None

    def restart(self, tokens: Sequence[int]) -> None:
        """Stand behind these tokens of an answer. Raises `ConstraintFailed` if that is no place."""
        self._inner, self._state = self._compiled.start.deep_copy(), OUTSIDE
        for token in tokens:
            self.accept(token)

    def is_whole(self, text: str) -> bool:
        """Whether exactly this text is legal from the start."""
        matcher = self._compiled.start.deep_copy()
        tokens = self._compiled.tokenizer.tokenize_bytes(text.encode())
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

    def ending(self, limit: int, *, after: int | None = None) -> tuple[int, ...] | None:
        """Tokens to a legal end from here, or from behind a token, at most `limit`; see `Endings`.

        None if none so short is found.
        """
        matcher, state = self._inner, self._state
        if after is not None:
            matcher = matcher.deep_copy()
            if not matcher.consume_token(after):
                return None
            state = self._endings.state_after(after, state)
        return self._endings.find(matcher, limit, state=state)

    def first_ending(self, limit: int) -> tuple[int, ...] | None:
        """The shortest whole answer found, at most `limit` tokens. Only right at the start."""
        known = self._compiled.first_endings
        if limit not in known:
            found = self._endings.find(self._inner, limit)
            if found is not None and len(found) <= SHORT_TOKENS:
                found = self._endings.find(self._inner, len(found), width=WIDTH) or found
            known[limit] = found
        return known[limit]

    @property
    def commitment_tokens(self) -> int:
        """About how much a single token can oblige the answer to write."""
        return self._compiled.commitment_tokens

    def closing(self, mask: NDArray[int32]) -> NDArray[np.intp]:
        """The allowed tokens that end the string, list or number in which the answer stands."""
        return self._endings.closing(mask, self._state)

    @property
    def may_end(self) -> bool:
        """The text so far is a legal whole."""
        return self._inner.is_accepting()

    @property
    def must_end(self) -> bool:
        """Nothing more can follow."""
        stopped = self._inner.is_stopped()
        self._check()
        return stopped


class MaskTable:
    """Room for the masks of one step, computed together off the interpreter lock."""

    def __init__(self, rows: int, n_vocab: int) -> None:
        self._masks: NDArray[int32] = allocate_token_bitmask(rows, n_vocab)  # (rows, n_vocab/32)
        self._single: NDArray[int32] = allocate_token_bitmask(1, n_vocab)
        self._executor = LLExecutor(2)

    def fill(self, matchers: Sequence[Matcher]) -> NDArray[int32]:
        """Masks of these matchers, a row each, a bit per token; valid until the next `fill`.

        Ask each matcher's `check` before its row is used: one that gave up has none.
        """
        pairs = [(matcher.inner, row) for row, matcher in enumerate(matchers)]
        if pairs:
            fill_next_token_bitmask_par(self._executor, pairs, self._masks)
        return self._masks

    def one(self, matcher: Matcher) -> NDArray[int32]:
        """The mask of one matcher in between; valid until the next call, and beside `fill`'s."""
        fill_next_token_bitmask(matcher.inner, self._single, 0)
        matcher.check()
        row: NDArray[int32] = self._single[0]
        return row
