"""Log-probabilities on their way into a stream, each with the text that its token is of."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.backends.base import Handle, Result, TellsLogprobs
from vedette.types import Completion, TokenLogprob


class DueTokens:
    """Follows one answer: which of its tokens are to be told next."""

    def __init__(self, handle: Handle[Result]) -> None:
        self._handle = handle
        self._n_told = 0
        self._n_text = self._n_covered = 0  # characters

    def with_text(self, text: str) -> Sequence[TokenLogprob]:
        """Those whose text begins within what was sent up to this one, as far as they are known.

        What a grammar forces is known only a step later, and is told with later text.
        """
        self._n_text += len(text)
        known = self._handle.logprobs if isinstance(self._handle, TellsLogprobs) else ()
        n_before = self._n_told
        while self._n_told < len(known) and self._n_covered < self._n_text:
            self._n_covered += len(known[self._n_told].text)
            self._n_told += 1
        return known[n_before : self._n_told]

    def rest(self, completion: Completion) -> Sequence[TokenLogprob]:
        """Those that were not told before the end."""
        return completion.logprobs[self._n_told :]
