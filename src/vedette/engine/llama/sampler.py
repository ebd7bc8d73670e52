"""llama.cpp's own sampler chain, built from `Sampling`."""

from __future__ import annotations

import llama_cpp

from vedette.types import Sampling

from .context import Context


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

    def accept(self, token: int) -> None:
        """Remember a token that was not sampled here (forced)."""
        llama_cpp.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free the chain."""
        chain, self._chain = self._chain, None
        if chain:
            llama_cpp.llama_sampler_free(chain)
