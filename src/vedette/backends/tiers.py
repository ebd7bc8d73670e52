"""Several backends in the order small to large, as one: each request says which tier it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import cast, overload

from vedette.errors import InputError
from vedette.types import (
    AnyRequest,
    Capabilities,
    Completion,
    Embedding,
    EmbedRequest,
    Json,
    Request,
    ScoreRequest,
    Scores,
)

from .base import Backend, Handle, Result


class Tiers:
    """Implements `Backend` over backends that it owns, the smallest first.

    A request goes to the tier that it names. What is asked of the whole (capabilities, tokens of
    a text, the name) is answered by the smallest, `tier(n)` is each one's own. Raises `InputError`
    for two tiers that are the same model.
    """

    def __init__(self, backends: Sequence[Backend]) -> None:
        self._tiers = tuple(backends)
        known: list[dict[str, Json]] = []
        for one in self._tiers:
            if one.identity in known:
                raise InputError(
                    f"{one.name} is the smaller tier and the larger one too",
                    hint="escalate to another model",
                )
            known.append(one.identity)

    def tier(self, number: int) -> Backend:
        """The backend of this tier."""
        return self._tiers[number]

    @property
    def name(self) -> str:
        """The names, smallest first."""
        return " > ".join(one.name for one in self._tiers)

    @property
    def capabilities(self) -> Capabilities:
        """Those of the smallest."""
        return self._tiers[0].capabilities

    @property
    def identity(self) -> dict[str, Json]:
        """Those of all tiers."""
        return {"tiers": [one.identity for one in self._tiers]}

    @property
    def width(self) -> int:
        """Requests worth having under way: as many as keep all tiers busy."""
        return sum(one.width for one in self._tiers)

    @overload
    def submit(self, request: Request) -> Handle[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Handle[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Handle[Embedding]: ...
    def submit(self, request: AnyRequest) -> Handle[Result]:
        """Queue a request with its tier; see `Backend.submit`."""
        # The overloads of `submit` take one kind of request each, and this is any.
        submit = cast(Callable[[AnyRequest], Handle[Result]], self._backend(request).submit)
        return submit(replace(request, tier=0))

    def check(self, request: AnyRequest) -> None:
        """See `Backend.check`."""
        self._backend(request).check(replace(request, tier=0))

    def show_prompt(self, request: AnyRequest) -> str:
        """The prompt as the request's tier reads it."""
        return self._backend(request).show_prompt(replace(request, tier=0))

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as the smallest counts them."""
        return self._tiers[0].count_tokens(text)

    @property
    def counts(self) -> Mapping[str, int]:
        """What happened in each; of tiers above the smallest the names say which."""
        counts = dict(self._tiers[0].counts)
        for number, one in enumerate(self._tiers[1:], start=1):
            counts |= {f"tier_{number}_{name}": count for name, count in one.counts.items()}
        return counts

    def close(self) -> None:
        """Close all of them, whatever one of them raises."""
        with ExitStack() as stack:
            for one in self._tiers:
                stack.callback(one.close)

    def _backend(self, request: AnyRequest) -> Backend:
        if not 0 <= request.tier < len(self._tiers):
            raise InputError(f"there is no tier {request.tier}; there are {len(self._tiers)}")
        return self._tiers[request.tier]
