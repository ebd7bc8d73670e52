"""No model at all, for tasks that can do without one."""

from __future__ import annotations

from typing import NoReturn

from vedette.errors import CapabilityMissing
from vedette.types import Capabilities, Json, Request, ScoreRequest


class NoModel:
    """Implements `Backend`: answers nothing, so that whoever asks finds out."""

    width = 1

    @property
    def capabilities(self) -> Capabilities:
        """None."""
        return Capabilities(can_complete=False, context_tokens=0)

    @property
    def identity(self) -> dict[str, Json]:
        """There is no model that an answer depends on."""
        return {"model": None}

    def submit(self, request: Request | ScoreRequest) -> NoReturn:
        """Raises `CapabilityMissing`."""
        raise CapabilityMissing("this job runs without a model, and something was asked of one")

    def count_tokens(self, text: str) -> NoReturn:
        """Raises `CapabilityMissing`."""
        raise CapabilityMissing("tokens are a model's, and this job runs without one")

    def close(self) -> None:
        """Nothing is open."""
