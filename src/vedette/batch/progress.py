"""How far a job is, for people: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import IO, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress

PLAIN_EVERY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Rows written so far, of how many (None: not known), and the pace of this run."""

    done: int
    total: int | None
    errors: int
    items_per_s: float
    eta_s: float | None

    def __str__(self) -> str:
        rows = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        return f"{rows} rows, {self.pace}"

    @property
    def pace(self) -> str:
        """Errors, items/s and time left, as one phrase."""
        parts = [f"{self.items_per_s:,.1f}/s"]
        if self.errors:
            parts.insert(0, f"{self.errors:,} errors" if self.errors > 1 else "1 error")
        if self.eta_s is not None:
            parts.append(f"{duration(self.eta_s)} left")
        return ", ".join(parts)


class Progress(Protocol):
    """Is told how far the job is, a few times a second at most, always once at the end."""

    def update(self, now: Snapshot) -> None:
        """The job is this far."""
        ...

    def close(self) -> None:
        """The job has ended, one way or the other."""
        ...


class NoProgress:
    """Shows nothing."""

    def update(self, now: Snapshot) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Leave nothing."""


class PlainProgress:
    """A line now and then, for logs and pipes."""

    def __init__(self, stream: IO[str], every_s: float = PLAIN_EVERY_S) -> None:
        self._stream = stream
        self._every_s = every_s
        self._last_s = time.monotonic()
        self._shown: Snapshot | None = None
        self._latest: Snapshot | None = None

    def update(self, now: Snapshot) -> None:
        """Print a line when the last one is old enough."""
        self._latest = now
        if time.monotonic() - self._last_s >= self._every_s:
            self._print(now)

    def close(self) -> None:
        """Print where it ended, unless that is printed already."""
        if self._latest is not None and self._latest != self._shown:
            self._print(self._latest)

    def _print(self, now: Snapshot) -> None:
        self._last_s = time.monotonic()
        self._shown = now
        print(now, file=self._stream, flush=True)


class BarProgress:
    """A bar that is drawn over itself."""

    def __init__(self, console: Console) -> None:
        self._bar = RichProgress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            console=console,
            transient=False,
        )
        self._task = self._bar.add_task("rows", total=None, pace="")
        self._bar.start()

    def update(self, now: Snapshot) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=now.done, total=now.total, pace=now.pace)

    def close(self) -> None:
        """Draw it for the last time and leave the terminal as it was."""
        self._bar.stop()


def progress_on(stream: IO[str], *, quiet: bool = False) -> Progress:
    """What suits the stream: nothing when quiet, a bar on a terminal, lines elsewhere."""
    if quiet:
        return NoProgress()
    return BarProgress(Console(file=stream)) if stream.isatty() else PlainProgress(stream)


def duration(seconds: float) -> str:
    """A time as people say it: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
