"""How a pull tells its reader where it is."""

from __future__ import annotations

import sys
from typing import IO, Protocol

from vedette.models.units import human_bytes


class Progress(Protocol):
    """Listens to a pull. All calls come from the thread that pulls."""

    def start(self, total_bytes: int, label: str) -> None:
        """A transfer of `total_bytes` begins."""
        ...

    def advance(self, n_bytes: int) -> None:
        """`n_bytes` more are here."""
        ...

    def note(self, text: str) -> None:
        """One line worth reading; may come before `start`."""
        ...

    def finish(self) -> None:
        """The transfer ended, well or not."""
        ...


class Silent:
    """Says nothing."""

    def start(self, total_bytes: int, label: str) -> None:
        """Say nothing."""

    def advance(self, n_bytes: int) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""


class Lines:
    """Plain lines for pipes and logs: one for every tenth of the transfer."""

    def __init__(self, out: IO[str] | None = None) -> None:
        self._out = out or sys.stderr
        self._label = ""
        self._total_bytes = 0
        self._done_bytes = 0

    def start(self, total_bytes: int, label: str) -> None:
        """Begin a transfer; the next line comes at its first full tenth."""
        self._label, self._total_bytes, self._done_bytes = label, total_bytes, 0

    def advance(self, n_bytes: int) -> None:
        """Print a line when a tenth was passed."""
        before = self._tenths()
        self._done_bytes += n_bytes
        if self._tenths() > before:
            self.note(
                f"{self._label}: {10 * self._tenths()}% "
                f"({human_bytes(self._done_bytes)} of {human_bytes(self._total_bytes)})"
            )

    def note(self, text: str) -> None:
        """Print the line."""
        print(text, file=self._out, flush=True)

    def finish(self) -> None:
        """Nothing is open."""

    def _tenths(self) -> int:
        return 10 * self._done_bytes // self._total_bytes if self._total_bytes else 0


class Bar:
    """A bar for a terminal, with rate and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as RichProgress

        self._rich = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._rich.add_task("", visible=False)

    def start(self, total_bytes: int, label: str) -> None:
        """Show the bar."""
        self._rich.reset(self._task, total=total_bytes, description=label, visible=True)
        self._rich.start()

    def advance(self, n_bytes: int) -> None:
        """Move the bar."""
        self._rich.advance(self._task, n_bytes)

    def note(self, text: str) -> None:
        """Print the line above the bar."""
        self._rich.console.print(text, markup=False, highlight=False)

    def finish(self) -> None:
        """Leave the bar as it stands."""
        self._rich.stop()


def progress_for_stderr(*, quiet: bool = False) -> Progress:
    """A bar on a terminal, lines in a pipe, nothing when `quiet`."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


class Meter:
    """Turns positions in a file into a progress that begins when the first byte has come.

    A package is seen growing before its bytes are written to the file, so both report the
    position that they have reached, and only what is beyond the furthest so far counts.
    """

    def __init__(
        self, progress: Progress, *, label: str, total_bytes: int, start_bytes: int
    ) -> None:
        self._progress = progress
        self._label = label
        self._total_bytes = total_bytes
        self._start_bytes = start_bytes
        self._position_bytes = 0
        self._running = False

    def at(self, position_bytes: int) -> None:
        """The transfer has reached this byte of the file."""
        if not self._running:
            self._begin()
        if position_bytes > self._position_bytes:
            self._progress.advance(position_bytes - self._position_bytes)
            self._position_bytes = position_bytes

    def finish(self) -> None:
        """The transfer ended, well or not; nothing if it never began."""
        if self._running:
            self._progress.finish()
            self._running = False

    def _begin(self) -> None:
        self._running = True
        if self._start_bytes:
            have, all_of_it = human_bytes(self._start_bytes), human_bytes(self._total_bytes)
            self._progress.note(f"going on at {have} of {all_of_it}")
        self._progress.start(self._total_bytes, self._label)
        self.at(self._start_bytes)
