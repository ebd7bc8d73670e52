"""Work on all inputs of a request together, where one answer depends on the other inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from vedette.backends.base import Backend
from vedette.batch.results import Outcome
from vedette.types import Item


@runtime_checkable
class Together(Protocol):
    """Something that is no `Task`, since a task sees one item."""

    def outcomes(self, items: Sequence[Item], backend: Backend, workers: int) -> list[Outcome]:
        """An outcome for each item in order; up to `workers` are under way at once.

        Raises the `VedetteError` that says why there can be none for any. It blocks.
        """
        ...
