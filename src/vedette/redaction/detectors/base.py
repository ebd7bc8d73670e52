"""What a detector is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

MAX_SPAN_CHARS = 32 * 1024
"""No detector finds anything longer; a stream keeps that much text at hand."""


class Detector(Protocol):
    """Finds one sort of thing."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its spans."""
        ...

    def find(self, scan: Scan) -> Iterator[Span]:
        """What it finds, in any order; spans may overlap."""
        ...
