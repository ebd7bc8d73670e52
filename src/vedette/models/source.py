"""Where the bytes of a model come from."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from vedette.models.progress import Meter


class SourceFailed(Exception):
    """This source cannot deliver, for a reason of one line; the next one may.

    `resumable` says that the line dropped under way and asking again is worth it.
    """

    def __init__(self, reason: str, *, resumable: bool = False) -> None:
        super().__init__(reason)
        self.resumable = resumable


class Source(Protocol):
    """One way to get the bytes of one model."""

    @property
    def label(self) -> str:
        """Its name for people."""
        ...

    def workspace_bytes(self, start_bytes: int) -> int:
        """Room needed beside the file itself while streaming from there."""
        ...

    def stream(self, start_bytes: int, meter: Meter) -> Generator[bytes, None, None]:
        """The content from that byte on. Raises `SourceFailed`, or `DiskFull` for its workspace.

        Closing the iterator ends the transfer and removes what it left in its workspace.
        """
        ...
