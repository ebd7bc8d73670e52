"""The log-probabilities of an answer's tokens, where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vedette.types import TokenLogprob, TopToken

from .sampling import likeliest, log_softmax_at
from .tokens import Tokenizer

Row = NDArray[np.float32]


class Trace:
    """One entry for each token after the prompt, or none at all if `wanted` is false.

    Each has the `n_top` likeliest tokens at its place.
    """

    def __init__(self, tokenizer: Tokenizer, *, wanted: bool, n_top: int = 0) -> None:
        self.wanted = wanted
        self._n_top = n_top
        self.entries: list[TokenLogprob] = []
        self._tokenizer = tokenizer
        self._row: Row | None = None

    def look_at(self, row: Row) -> None:
        """Keep the logits of the next token as they are, before anything is masked in them."""
        if self.wanted:
            self._row = row.copy()

    def chosen(self, token: int, logprob: float, gap: float) -> None:
        """A token was chosen from its logits."""
        if self.wanted and self._row is not None:
            self._add(token, self._row, logprob, gap)

    def put_instead(self, token: int) -> None:
        """A token was put in place of the one that its logits would have given."""
        if self.wanted and self._row is not None:
            self._add_forced(token, self._row)

    def known(self, rows: NDArray[np.float32], following: Sequence[int]) -> None:
        """Logits of tokens that were forced before these were computed."""
        for row, token in zip(rows, following, strict=False):
            self._add_forced(token, row)

    def cut(self, n_tokens: int) -> None:
        """Keep the entries of the first tokens only."""
        del self.entries[n_tokens:]

    def is_complete(self, n_tokens: int) -> bool:
        """Whether so many tokens have their entries."""
        return not self.wanted or len(self.entries) == n_tokens

    def _add_forced(self, token: int, row: Row) -> None:
        self._add(token, row, log_softmax_at(row, [token])[0], 0.0, forced=True)

    def _add(
        self, token: int, row: Row, logprob: float, gap: float, *, forced: bool = False
    ) -> None:
        self.entries.append(
            TokenLogprob(
                token_id=token,
                text=_text(self._tokenizer.piece(token)),
                logprob=logprob,
                runner_up_gap=gap,
                forced=forced,
                top=self._top(row) if self._n_top else (),
            )
        )

    def _top(self, row: Row) -> tuple[TopToken, ...]:
        tokens = likeliest(row, self._n_top)
        return tuple(
            TopToken(token, _text(self._tokenizer.special_piece(token)), logprob)
            for token, logprob in zip(tokens, log_softmax_at(row, tokens), strict=True)
        )


def _text(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")
