"""A sequence id and its cells in the KV cache."""

from __future__ import annotations

from dataclasses import dataclass

from .llama.adapter import NO_ADAPTERS, AdapterSet


@dataclass(slots=True)
class Holder:
    """A sequence id's cells: those of `source` up to `base`, and from there on its own.

    `n_tokens` is what a kept one holds, and what a live one may come to hold. `users` stand on
    its own cells. Others are known to begin with its first `n_common` tokens. All of it was
    computed under `adapters`, and so was what it stands on. `n_prompt` is for a chat that is kept
    in case it goes on: so many of its tokens it was asked with.
    """

    n_tokens: int
    base: int = 0
    source: int | None = None
    users: int = 0
    n_common: int = 0
    adapters: AdapterSet = NO_ADAPTERS
    n_prompt: int = 0

    @property
    def n_own(self) -> int:
        """Cells that no source holds for it."""
        return max(0, self.n_tokens - self.base)


@dataclass(frozen=True, slots=True)
class Start:
    """A sequence id, and how many of its leading tokens are in the cache already."""

    seq_id: int
    n_cached: int
