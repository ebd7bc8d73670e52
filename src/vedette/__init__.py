"""Small local models as dependable parts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.api import (
        ChangelogEntry,
        Classify,
        Clean,
        Commit,
        Compress,
        Decide,
        Duplicate,
        Engine,
        Extract,
        Guard,
        Metadata,
        PullRequest,
        Rerank,
        Rewrite,
        Route,
        Sentiment,
        Summarise,
        Tag,
        Triage,
        aclassify,
        aextract,
        aguard,
        amap,
        ask,
        changelog,
        classify,
        clean,
        commit,
        compress,
        dedupe,
        extract,
        guard,
        metadata,
        pull_request,
        rerank,
        rewrite,
        route,
        sentiment,
        summarise,
        tag,
        triage,
    )
    from vedette.api import map as map
    from vedette.redacting import redact, restore

__all__ = [
    "ChangelogEntry",
    "Classify",
    "Clean",
    "Commit",
    "Compress",
    "Decide",
    "Duplicate",
    "Engine",
    "Extract",
    "Guard",
    "Metadata",
    "PullRequest",
    "Rerank",
    "Rewrite",
    "Route",
    "Sentiment",
    "Summarise",
    "Tag",
    "Triage",
    "aclassify",
    "aextract",
    "aguard",
    "amap",
    "ask",
    "changelog",
    "classify",
    "clean",
    "commit",
    "compress",
    "dedupe",
    "extract",
    "guard",
    "map",
    "metadata",
    "pull_request",
    "redact",
    "rerank",
    "restore",
    "rewrite",
    "route",
    "sentiment",
    "summarise",
    "tag",
    "triage",
]
_WITHOUT_ENGINE = ("redact", "restore")


def __getattr__(name: str) -> object:
    """Load the API on first use, so that the command line's help does not load an engine."""
    if name in __all__:
        module = "vedette.redacting" if name in _WITHOUT_ENGINE else "vedette.api"
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'vedette' has no attribute {name!r}")
