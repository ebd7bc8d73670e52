"""The ledger added up for people and pages."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from vedette.errors import InputError

from .ledger import Sums

ALL = "all"
_AGO = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def since_s(text: str) -> float:
    """The time that a text means, in seconds since 1970; 0 for an empty one.

    `24h`, `7d` and the like count back from now; a date, or a date and time, is of UTC unless it
    says otherwise. Raises `InputError` for anything else.
    """
    if not text:
        return 0.0
    if ago := _AGO.fullmatch(text.strip()):
        return time.time() - int(ago[1]) * _SECONDS[ago[2]]
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"{text!r} is no time to begin at", hint="write 24h, 7d, 2026-12-01 or a date and time"
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def whole(sums: Sequence[Sums]) -> Sums:
    """All of them together."""
    n = sum(one.requests for one in sums)
    return Sums(
        route=ALL,
        tier=ALL,
        requests=n,
        unanswered=sum(one.unanswered for one in sums),
        cached=sum(one.cached for one in sums),
        prompt_tokens=sum(one.prompt_tokens for one in sums),
        completion_tokens=sum(one.completion_tokens for one in sums),
        cost=sum(one.cost for one in sums),
        saved=sum(one.saved for one in sums),
        mean_ms=sum(one.mean_ms * one.requests for one in sums) / max(1, n),
    )
