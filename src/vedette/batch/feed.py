"""Hands the runner its rows one by one, without ever blocking it on a slow stream."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from typing import Protocol

from .rows import Row

ROWS_AHEAD = 1024
CLOSED_CHECK_S = 0.2


class Feed(Protocol):
    """Rows to come."""

    @property
    def ended(self) -> bool:
        """Whether no row will come any more."""
        ...

    def poll(self) -> Row | None:
        """The next row, or None when there is none now. Raises what the reading raised."""
        ...

    def close(self) -> None:
        """No more rows are wanted."""
        ...


class FileFeed:
    """Rows of files: read when asked for, which takes no time worth a thread."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.ended = False

    def poll(self) -> Row | None:
        """The next row; None only at the end."""
        row = next(self._rows, None)
        self.ended = row is None
        return row

    def close(self) -> None:
        """Nothing is left running."""


class BackFeed:
    """A feed from which some rows were taken already and are given again first."""

    def __init__(self, rows: Iterable[Row], rest: Feed) -> None:
        self._rows = deque(rows)
        self._rest = rest

    @property
    def ended(self) -> bool:
        """See `Feed`."""
        return not self._rows and self._rest.ended

    def poll(self) -> Row | None:
        """See `Feed`."""
        return self._rows.popleft() if self._rows else self._rest.poll()

    def close(self) -> None:
        """See `Feed`."""
        self._rest.close()


class StreamFeed:
    """Rows that take their time: a thread reads them and calls `wake` for each.

    At most `ahead` wait to be polled. `close` waits `finish_s` for the thread to end, which one
    that waits for stdin or a pipe cannot be made to.
    """

    def __init__(
        self,
        rows: Iterator[Row],
        wake: Callable[[], None],
        *,
        ahead: int = ROWS_AHEAD,
        finish_s: float = 0.0,
    ) -> None:
        self.ended = False
        self._rows = rows
        self._wake = wake
        self._queue: Queue[Row | Exception | None] = Queue(ahead)
        self._closed = False
        self._finish_s = finish_s
        self._thread = threading.Thread(target=self._read, name="vedette-feed", daemon=True)
        self._thread.start()

    def poll(self) -> Row | None:
        """The next row if one has arrived. Raises what the reading raised."""
        try:
            row = self._queue.get_nowait()
        except Empty:
            return None
        if isinstance(row, Exception):
            raise row
        self.ended = row is None
        return row

    def close(self) -> None:
        """The thread ends with its next row; one that waits for input is left to the process."""
        self._closed = True
        self._thread.join(self._finish_s)

    def _read(self) -> None:
        last: Exception | None = None
        try:
            for row in self._rows:
                if not self._put(row):
                    return
        except Exception as error:
            last = error  # raised again by `poll`, in the runner's thread
        self._put(last)

    def _put(self, row: Row | Exception | None) -> bool:
        while not self._closed:
            try:
                self._queue.put(row, timeout=CLOSED_CHECK_S)
            except Full:
                continue
            self._wake()
            return True
        return False
