"""A mended file in the place of the one that was read."""

from __future__ import annotations

import os
from pathlib import Path

from vedette.errors import FileError

from .linter import read_text


def write_mended(path: Path, before: str, after: str) -> None:
    """Put a file's new content in place in one step, with the mode that it had.

    Raises `FileError` if it cannot be written, or if it is no longer what was read (`before`).
    """
    real = path.resolve()  # a link stays a link
    if read_text(real) != before:
        raise FileError(f"{path} was changed while it was looked at", hint="run the command again")
    beside = real.with_name(f"{real.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(after.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(real.stat().st_mode & 0o7777)
        beside.replace(real)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    finally:
        beside.unlink(missing_ok=True)
