"""The one folder in which vedette keeps what it fetched, and locks within it."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vedette.config import load
from vedette.errors import FileError


def home() -> Path:
    """The cache folder: the setting `home`. Raises as `config.load`."""
    return load().home


def models_dir() -> Path:
    """Where pulled weights lie."""
    return home() / "models"


def make_dir(path: Path) -> Path:
    """Create a folder with its parents. Raises `FileError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot create the folder {path}: {error.strerror}",
            hint="set VEDETTE_HOME to a folder that can be written",
        ) from error
    return path


@contextmanager
def locked(path: Path, *, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file; `on_wait` is called once if another process has it, then we wait.

    The lock dies with its process, so a killed pull never leaves one behind. The file itself
    stays: removing it would let two processes lock two different files of the same name.
    """
    try:
        handle = path.open("ab")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
