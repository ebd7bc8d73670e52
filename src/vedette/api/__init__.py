"""What `import vedette` offers: an engine, the tasks as functions, and a lazy map over items."""

from __future__ import annotations

from .change import ChangelogEntry, Commit, PullRequest, changelog, commit, pull_request
from .cleaning import Clean, clean
from .decisions import Classify, Decide, aclassify, ask, classify
from .duplicates import Duplicate, dedupe
from .engine import Engine
from .extraction import Extract, aextract, extract
from .guarding import Guard, aguard, guard
from .items import amap, map
from .presets import (
    Metadata,
    Route,
    Sentiment,
    Tag,
    Triage,
    metadata,
    route,
    sentiment,
    tag,
    triage,
)
from .retrieval import Rerank, Rewrite, rerank, rewrite
from .shortening import Compress, Summarise, compress, summarise

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
    "rerank",
    "rewrite",
    "route",
    "sentiment",
    "summarise",
    "tag",
    "triage",
]
