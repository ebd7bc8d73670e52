"""Who answers a request, and why; perhaps with the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.types import Usage

from .tables import LOCAL

NOT_ASKED = "not-asked"
"""The reason where the local model cannot be asked about a text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A tier's name, or `up` for the first that is called. `text` is an answer that is there."""

    tier: str
    reason: str
    text: str | None = None
    usage: Usage = field(default_factory=Usage)


def kept(text: str, confidence: float, usage: Usage) -> Choice:
    """The local model's answer, which a calibration vouches for."""
    return Choice(LOCAL, f"kept:{confidence:.2f}", text, usage)


def unsure(confidence: float) -> str:
    """The reason where no calibration vouches for an answer."""
    return f"unsure:{confidence:.2f}"
