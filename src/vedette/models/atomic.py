"""Small files that are there whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from vedette.types import Json


def write_json(path: Path, content: Mapping[str, Json], *, mode: int = 0o666) -> None:
    """Write beside, flush, then put in place in one step; `mode` is further cut by the umask.

    Raises `OSError`.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "w", encoding="utf-8", opener=opener) as file:
            json.dump(content, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
