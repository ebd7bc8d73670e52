"""Files that the configuration names are meant from its own folder."""

from __future__ import annotations

from pathlib import Path

from vedette.errors import FileError


def beside(name: str, base: Path) -> str:
    """The path of a file that is named in a file of the folder `base`."""
    return str(base / Path(name).expanduser())


def beside_if_file(name: str, base: Path) -> str:
    """The same where there is such a file; else the name, which may be that of something else."""
    path = Path(beside(name, base))
    return str(path) if path.is_file() else name


def text_beside(name: str, base: Path, what: str) -> str:
    """The text of such a file. Raises `FileError`."""
    path = Path(beside(name, base))
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"cannot read the {what} {path}: {reason}") from error
