"""Labels by the nearest examples behind a gate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from vedette.tasks.base import Task
from vedette.tasks.nearest.task import Nearest
from vedette.types import EmbedRequest

from .classify import GatedClassify
from .task import Gate


@dataclass(frozen=True)
class PlacedGate(Gate):
    """A `Gate` before labels by the nearest examples; implements `Embeds` for their texts."""

    @property
    def _nearest(self) -> Nearest:
        return cast(Nearest, self.subject.task)

    @property
    def texts(self) -> tuple[str, ...]:
        """See `Embeds`."""
        return self._nearest.texts

    def embed_request(self, text: str) -> EmbedRequest:
        """See `Embeds`."""
        return self._nearest.embed_request(text)

    def placed(self, vectors: NDArray[np.float32]) -> Task:
        """See `Embeds`."""
        return replace(self, subject=GatedClassify(self._nearest.placed(vectors)))
