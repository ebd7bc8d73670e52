"""What the backends say to a model themselves; the texts are in `prompts.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def _texts() -> dict[str, str]:
    return tomllib.loads(files("vedette.backends").joinpath("prompts.toml").read_text("utf-8"))


def text_of(key: str, **values: str) -> str:
    """One text, with values put in place of `{name}`, in one pass."""
    names = "|".join(map(re.escape, values)) or "(?!)"
    return re.sub("{(" + names + ")}", lambda found: values[found.group(1)], _texts()[key])
