"""Which part of the server a path belongs to, and so which keys open it."""

from __future__ import annotations

from collections.abc import Iterable

from vedette.config import nearest
from vedette.errors import InputError

SCOPES = {
    "chat": (
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/tokenize",
        "/detokenize",
        "/apply-template",
    ),
    "embed": ("/v1/embeddings", "/v1/rerank", "/rerank", "/v1/reranking", "/reranking"),
    "tasks": (
        "/v1/tasks",
        "/v1/schema",
        "/v1/systemone",
        "/v1/decisions",
        "/api/alpha/decisions",
        "/mcp",
    ),
    "files": ("/v1/files", "/v1/batches"),
    "metrics": ("/metrics", "/v1/activity", "/v1/machine", "/v1/ledger"),
    "admin": ("/lora-adapters", "/v1/adapters"),
}
"""The paths of each scope; what lies below a path is meant too."""
DEFAULT_SCOPES = ("chat", "embed", "tasks")
FOR_ALL_KEYS = ("/v1/models", "/openapi.json")
OPEN_PATHS = ("/", "/health", "/ready")
"""These need no key; nor do the page's files, which tell nothing of the server."""


def is_open(path: str) -> bool:
    """Whether a path needs no key."""
    return path in OPEN_PATHS or path.startswith("/page/")


def scope_of(path: str) -> str | None:
    """The scope that a key needs; None where any key will do.

    A path that nobody has given a scope is `admin`, so that a forgotten line lets nobody in.
    """
    if _is_among(path, FOR_ALL_KEYS):
        return None
    return next((scope for scope, paths in SCOPES.items() if _is_among(path, paths)), "admin")


def check_scopes(given: Iterable[str]) -> frozenset[str]:
    """As a set. Raises `InputError` for none, and for one that does not exist."""
    scopes = frozenset(given)
    for scope in sorted(scopes - SCOPES.keys()):
        meant = nearest(scope, SCOPES)
        raise InputError(
            f"there is no scope {scope!r}",
            hint=f"did you mean {meant}?" if meant else f"there are {', '.join(SCOPES)}",
        )
    if not scopes:
        raise InputError("a key needs a scope", hint=f"there are {', '.join(SCOPES)}")
    return scopes


def _is_among(path: str, paths: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in paths)
