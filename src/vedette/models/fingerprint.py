"""The SHA-256 of a file, computed once and remembered by path, size and time of change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from vedette.errors import FileError
from vedette.models.atomic import write_json
from vedette.models.home import home


def file_sha256(path: Path) -> str:
    """Hash of a file's content, from memory if the file has not changed since. Raises `FileError`.

    About a second for each 500 MB the first time.
    """
    try:
        real = path.resolve(strict=True)
        stat = real.stat()
        stamp: dict[str, str | int] = {
            "path": str(real),
            "size_bytes": stat.st_size,
            "mtime_ns": stat.st_mtime_ns,
        }
        note = home() / "hashes" / f"{hashlib.sha256(str(real).encode()).hexdigest()[:24]}.json"
        known = _recall(note, stamp)
        if known is not None:
            return known
        with real.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    _remember(note, {**stamp, "sha256": digest})
    return digest


def _recall(note: Path, stamp: dict[str, str | int]) -> str | None:
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # nothing remembered, or a torn note: hash again
    if not isinstance(content, dict) or any(content.get(key) != stamp[key] for key in stamp):
        return None
    digest = content.get("sha256")
    return digest if isinstance(digest, str) else None


def _remember(note: Path, content: dict[str, str | int]) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        write_json(note, content)
    except OSError:
        # A cache folder that cannot be written costs the next run this hash again, nothing else.
        return
