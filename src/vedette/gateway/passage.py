"""One request on its way through a route: who answers, why, and what it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from vedette.types import Usage

Object: TypeAlias = dict[str, Any]
CacheState: TypeAlias = Literal["off", "skip", "miss", "hit"]

UNDER_WAY = "under_way"
OK = "ok"
CANCELLED = "cancelled"


@dataclass(slots=True, kw_only=True)
class Passage:
    """What is told of a request in headers and in the ledger. It has no text of any prompt.

    `reason` is a code, such as `kept` or `red-line:arithmetic`. `usage` are the tokens of the tier
    that answered (`is_estimated` where it did not tell them), `asked_tokens` and `answer_tokens`
    what the largest tier would have read and written. `hidden` counts values that were redacted,
    `cut_tokens` what compression left out. `cache` is `skip` where the route keeps answers, but
    not this one, which is neither greedy nor seeded.
    """

    route: str
    tier: str = ""
    model: str = ""
    reason: str = ""
    guard: str = ""
    cache: CacheState = "off"
    hidden: int = 0
    cut_tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    is_estimated: bool = False
    asked_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0
    saved: float = 0.0
    outcome: str = UNDER_WAY
    at_s: float = field(default_factory=time.time)
    began_s: float = field(default_factory=time.monotonic)
    row: int | None = None

    @property
    def ms(self) -> float:
        """How long it has taken so far."""
        return (time.monotonic() - self.began_s) * 1000

    @property
    def headers(self) -> dict[str, str]:
        """What the client is told beside the answer."""
        told = {
            "x-vedette-route": self.route,
            "x-vedette-tier": self.tier,
            "x-vedette-reason": self.reason,
            "x-vedette-cache": self.cache,
            "x-vedette-guard": self.guard,
            "x-vedette-hidden": str(self.hidden or ""),
            "x-vedette-cut-tokens": str(self.cut_tokens or ""),
        }
        # Names may be in any script, and headers are not.
        return {name: quote(value, safe=" :;,.-_()") for name, value in told.items() if value}
