"""No model at all, for tasks that can do without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from vedette.errors import CapabilityMissing
from vedette.types import AnyRequest, Capabilities, Json


class NoModel:
    """Implements `Backend`: answers nothing, so that whoever asks finds out."""

    name = "no model"
    width = 1

    @property
    def capabilities(self) -> Capabilities:
        """None."""
        return Capabilities(can_complete=False, context_tokens=0)

    @property
    def identity(self) -> dict[str, Json]:
        """There is no model that an answer depends on."""
        return {"model": None}

    @property
    def counts(self) -> Mapping[str, int]:
        """Nothing happens here."""
        return {}

    def submit(self, request: AnyRequest) -> NoReturn:
        """Raises `CapabilityMissing`."""
        raise CapabilityMissing("this job runs without a model, and something was asked of one")

    def check(self, request: AnyRequest) -> NoReturn:
        """Raises `CapabilityMissing`."""
        self.submit(request)

    def show_prompt(self, request: AnyRequest) -> NoReturn:
        """Raises `CapabilityMissing`."""
        self.submit(request)

    def count_tokens(self, text: str) -> int:
        """Raises `CapabilityMissing`, unless there is nothing to count."""
        if text:
            raise CapabilityMissing("tokens are a model's, and this job runs without one")
        return 0

    def close(self) -> None:
        """Nothing is open."""
