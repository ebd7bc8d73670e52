"""One sequence's place in a grammar."""

from __future__ import annotations

from collections.abc import Sequence

from llguidance import LLExecutor, LLMatcher, LLTokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask_par
from numpy import int32
from numpy.typing import NDArray

from vedette.errors import ConstraintFailed
from vedette.schema_report import SchemaReport

from .json_schema import SchemaGrammar


class Matcher:
    """Says which tokens may come next, takes them, and names those that must come.

    Every method raises `ConstraintFailed` when llguidance has given up (limits, internal
    error): the request then ends with that error, never with a free token.
    """

    def __init__(
        self, start: LLMatcher, tokenizer: LLTokenizer, schema: SchemaGrammar | None = None
    ) -> None:
        self._start = start
        self._tokenizer = tokenizer
        self._inner = start.deep_copy()
        self._schema = schema

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

    def forced(self) -> list[int]:
        """Tokens that the grammar leaves no choice about; not yet accepted.

        llguidance cuts the forced bytes back to where the model's own tokenisation of them is
        settled, so that the split is the one the model would have written.
        """
        tokens = self._inner.compute_ff_tokens()
        self._check()
        return list(tokens)

    @property
    def report(self) -> SchemaReport | None:
        """What became of each keyword of the schema, if a schema it is."""
        return self._schema.report if self._schema else None

    def check_answer(self, text: str) -> None:
        """Hold a finished text against what the grammar cannot say. Raises `ConstraintFailed`."""
        if self._schema is not None:
            self._schema.check(text)

    def is_whole(self, text: str) -> bool:
        """Whether exactly this text is legal from the start."""
        matcher = self._start.deep_copy()
        tokens = self._tokenizer.tokenize_bytes(text.encode())
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

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
        self._executor = LLExecutor(2)

    def fill(self, matchers: Sequence[Matcher]) -> NDArray[int32]:
        """Masks of these matchers, a row each, a bit per token; valid until the next `fill`.

        Ask each matcher's `check` before its row is used: one that gave up has none.
        """
        pairs = [(matcher.inner, row) for row, matcher in enumerate(matchers)]
        if pairs:
            fill_next_token_bitmask_par(self._executor, pairs, self._masks)
        return self._masks
