"""Small local models as dependable parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.api import (
        Classify,
        Clean,
        Duplicate,
        Engine,
        Extract,
        aclassify,
        aextract,
        amap,
        classify,
        clean,
        dedupe,
        extract,
    )
    from vedette.api import map as map

__all__ = [
    "Classify",
    "Clean",
    "Duplicate",
    "Engine",
    "Extract",
    "aclassify",
    "aextract",
    "amap",
    "classify",
    "clean",
    "dedupe",
    "extract",
    "map",
]


def __getattr__(name: str) -> object:
    """Load the API on first use, so that the command line's help does not load an engine."""
    if name in __all__:
        from vedette import api

        return getattr(api, name)
    raise AttributeError(f"module 'vedette' has no attribute {name!r}")
