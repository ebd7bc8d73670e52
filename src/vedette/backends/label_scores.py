"""Choices scored by a llama-server: the probabilities that it tells of each next token."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from vedette.engine.score import ChoiceTrie
from vedette.types import Scores, Usage

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NextTokens:
    """What a server says of the token after a prompt, before any sampling.

    `logprobs` holds the likeliest tokens, `end` that of the end of the answer. `n_prompt` and
    `n_cached` are the prompt's tokens.
    """

    logprobs: dict[int, float]
    end: float
    n_prompt: int
    n_cached: int

    @property
    def bound(self) -> float:
        """No other token is likelier than this: than the last one told of, or what is left."""
        left = 1.0 - math.fsum(map(math.exp, self.logprobs.values()))
        return min(min(self.logprobs.values()), math.log(max(left, 0.0) + 1e-6))


@dataclass(frozen=True, slots=True)
class BoundedScores:
    """Scores, and how many of them are upper bounds."""

    scores: Scores
    n_bounded: int


async def score(
    prompt: Sequence[int],
    trie: ChoiceTrie,
    ask: Callable[[Sequence[int]], Awaitable[NextTokens]],
) -> BoundedScores:
    """Log P(choice | prompt) for each choice, as the engine adds it up.

    One question for the prompt, and one for each place within the choices at which a token
    follows. A token that is not among the likeliest counts as likely as `NextTokens.bound`, so
    that its choice's score is an upper bound.
    """
    root = await ask(prompt)  # first, so that the others find the prompt in the cache
    ending = trie.ending
    inner = {path[:n] for path in trie.paths for n in range(1, len(path))} | ending
    paths = sorted(inner)
    replies = await asyncio.gather(*(ask([*prompt, *path]) for path in paths))
    known: dict[Path, NextTokens] = {(): root, **dict(zip(paths, replies, strict=True))}
    totals, n_bounded = [], 0
    for path in trie.paths:
        steps = [(known[path[:n]], path[n]) for n in range(len(path))]
        n_bounded += any(token not in row.logprobs for row, token in steps)
        total = math.fsum(row.logprobs.get(token, row.bound) for row, token in steps)
        totals.append(total + (known[path].end if path in ending else 0.0))
    usage = Usage(
        prompt_tokens=root.n_prompt,
        cached_tokens=root.n_cached,
        forced_tokens=sum(map(len, trie.branches)),
    )
    return BoundedScores(
        Scores(choices=trie.choices, logprobs=tuple(totals), usage=usage), n_bounded
    )
