"""llama.cpp's own sampler chain, built from `Sampling`."""

from __future__ import annotations

import ctypes

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from vedette.types import Sampling

from .context import Context

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama.cpp's llama_token_data."""


class SamplerChain:
    """Penalties, top-k, top-p, min-p, temperature, then a seeded draw (or the maximum).

    One per sequence, since penalties and the random stream are state.
    """

    def __init__(self, sampling: Sampling, n_vocab: int) -> None:
        params = llama_cpp.llama_sampler_chain_default_params()
        self._chain = llama_cpp.llama_sampler_chain_init(params)
        if sampling.repeat_penalty != 1.0:
            self._add(
                llama_cpp.llama_sampler_init_penalties(
                    n_vocab, sampling.repeat_last_tokens, sampling.repeat_penalty, 0.0, 0.0
                )
            )
        if sampling.temperature <= 0:
            self._add(llama_cpp.llama_sampler_init_greedy())
            return
        if sampling.top_k > 0:
            self._add(llama_cpp.llama_sampler_init_top_k(sampling.top_k))
        if sampling.top_p < 1:
            self._add(llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1))
        if sampling.min_p > 0:
            self._add(llama_cpp.llama_sampler_init_min_p(sampling.min_p, 1))
        self._add(llama_cpp.llama_sampler_init_temp(sampling.temperature))
        # 0xFFFFFFFF asks llama.cpp for a random seed, so no seed of ours becomes that.
        self._add(llama_cpp.llama_sampler_init_dist(sampling.seed % 0xFFFFFFFF))

    def _add(self, sampler: object) -> None:
        llama_cpp.llama_sampler_chain_add(self._chain, sampler)

    def sample(self, context: Context, batch_index: int) -> int:
        """Choose from the logits of a batch token (as they stand: masked) and remember it."""
        return int(llama_cpp.llama_sampler_sample(self._chain, context.pointer, batch_index))

    def probabilities(self, row: NDArray[np.float32]) -> NDArray[np.float64]:
        """What `sample` draws from, given these logits: (n_vocab,), of sum 1."""
        table = np.zeros(row.size, _TOKEN_DATA)
        table["id"] = np.arange(row.size)
        table["logit"] = row
        array = llama_cpp.llama_token_data_array()
        array.data = ctypes.cast(table.ctypes.data, ctypes.POINTER(llama_cpp.llama_token_data))
        array.size, array.selected, array.sorted = row.size, -1, False
        for i in range(llama_cpp.llama_sampler_chain_n(self._chain) - 1):
            part = llama_cpp.llama_sampler_chain_get(self._chain, i)
            llama_cpp.llama_sampler_apply(part, ctypes.byref(array))
        kept = table[: array.size]
        weights = np.exp(kept["logit"].astype(np.float64) - float(kept["logit"].max()))
        whole = np.zeros(row.size)
        whole[kept["id"]] = weights / weights.sum()
        return whole

    def accept(self, token: int) -> None:
        """Remember a token that was not sampled here (forced)."""
        llama_cpp.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free the chain."""
        chain, self._chain = self._chain, None
        if chain:
            llama_cpp.llama_sampler_free(chain)
