"""Requests that nobody waits for: they take what places live requests leave free."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend


class Guest:
    """One request of a batch while it is under way.

    `n` is how many answers it asks for. It should end as if its client had gone once `leave` is
    set, and can be asked again later.
    """

    def __init__(self) -> None:
        self.n = 1
        self.leave = asyncio.Event()


GUEST: ContextVar[Guest | None] = ContextVar("guest", default=None)
"""The guest on whose behalf a task asks; None for a live request."""


class Behind:
    """Who may ask behind live requests, and when. Of one event loop.

    While nothing is live, guests take as many places as are worth having under way. Beside live
    requests one guest at a time may begin, because every sequence in a step makes it slower; and
    as soon as there are more of both than `places`, the youngest guests are asked to leave.
    """

    def __init__(self, places: int, width: int) -> None:
        self._places = places
        self._width = width
        self._n_live = 0
        self._guests: list[Guest] = []  # the oldest first
        self._watchers: list[asyncio.Event] = []

    @classmethod
    def of(cls, backend: Backend) -> Behind:
        """For a backend: its places are what it answers side by side."""
        if isinstance(backend, LocalBackend):  # its width has some that wait for a free place
            return cls(backend.engine.options.width, backend.width)
        return cls(backend.width, backend.width)

    @property
    def has_room(self) -> bool:
        """Whether one guest more may begin."""
        n_guests = sum(guest.n for guest in self._guests)
        if self._n_live:
            return n_guests < min(1, self._places - self._n_live)
        return n_guests < self._width

    def enter(self) -> Guest:
        """A guest begins."""
        guest = Guest()
        self._guests.append(guest)
        return guest

    def part(self, guest: Guest) -> None:
        """The guest has ended."""
        self._guests.remove(guest)
        self._tell()

    def live(self, n: int) -> None:
        """So many more live answers are under way; fewer, if negative."""
        self._n_live += n
        if n > 0:
            self._make_room()
        self._tell()

    def watch(self, changed: asyncio.Event) -> None:
        """Set the event whenever there may be room."""
        self._watchers.append(changed)

    def unwatch(self, changed: asyncio.Event) -> None:
        """No longer."""
        self._watchers.remove(changed)

    def _make_room(self) -> None:
        staying = [guest for guest in self._guests if not guest.leave.is_set()]
        n_all = self._n_live + sum(guest.n for guest in staying)
        while staying and n_all > self._places:
            last = staying.pop()
            last.leave.set()
            n_all -= last.n

    def _tell(self) -> None:
        for changed in self._watchers:
            changed.set()
