"""The log-probabilities of an answer's tokens, where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vedette.types import TokenLogprob

from .sampling import log_softmax_at
from .tokens import Tokenizer

Row = NDArray[np.float32]


class Trace:
    """One entry for each token after the prompt, or none at all if `wanted` is false."""

    def __init__(self, tokenizer: Tokenizer, *, wanted: bool) -> None:
        self.wanted = wanted
        self.entries: list[TokenLogprob] = []
        self._tokenizer = tokenizer
        self._row: Row | None = None

    def look_at(self, row: Row) -> None:
        """Keep the logits of the next token as they are, before anything is masked in them."""
        if self.wanted:
            self._row = row.copy()

    def chosen(self, token: int, logprob: float, gap: float) -> None:
        """A token was chosen from its logits."""
        if self.wanted:
            self._add(token, logprob, gap, forced=False)

    def put_instead(self, token: int) -> None:
        """A token was put in place of the one that its logits would have given."""
        if self.wanted and self._row is not None:
            self._add(token, log_softmax_at(self._row, [token])[0], 0.0, forced=True)

    def known(self, rows: NDArray[np.float32], following: Sequence[int]) -> None:
        """Logits of tokens that were forced before these were computed."""
        for row, token in zip(rows, following, strict=False):
            self._add(token, log_softmax_at(row, [token])[0], 0.0, forced=True)

    def cut(self, n_tokens: int) -> None:
        """Keep the entries of the first tokens only."""
        del self.entries[n_tokens:]

    def is_complete(self, n_tokens: int) -> bool:
        """Whether so many tokens have their entries."""
        return not self.wanted or len(self.entries) == n_tokens

    def _add(self, token: int, logprob: float, gap: float, *, forced: bool) -> None:
        text = self._tokenizer.piece(token).decode("utf-8", "replace")
        self.entries.append(
            TokenLogprob(
                token_id=token, text=text, logprob=logprob, runner_up_gap=gap, forced=forced
            )
        )
