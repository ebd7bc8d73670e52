"""The files of the presets."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=8)
def load_preset(name: str) -> dict[str, Any]:
    """`<name>.toml` of this folder."""
    source = files("vedette.tasks.presets").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(source)
