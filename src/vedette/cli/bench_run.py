"""What every measurement needs before and while it runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from vedette.config import Settings

if TYPE_CHECKING:
    from vedette.bench.in_process import InProcess


def engine_of(settings: Settings, *, quiet: bool) -> InProcess:
    """Vedette's side; the model is fetched first if it is not here and the network may be used."""
    from vedette.backends.local import fetch, options_of
    from vedette.bench.in_process import InProcess
    from vedette.models.progress import progress_for_stderr

    fetch(settings, progress_for_stderr(quiet=quiet))
    return InProcess(model=settings.model, options=options_of(settings))


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """End on SIGTERM as on Ctrl-C: the peer is stopped first."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
