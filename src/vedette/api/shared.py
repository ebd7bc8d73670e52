"""The backends that the functions of the API share: opened on first use, closed at exit."""

from __future__ import annotations

import atexit
import threading
from typing import TypeAlias

from vedette.backends.base import Backend
from vedette.backends.open import open_backend
from vedette.backends.tiers import Tiers
from vedette.config import load
from vedette.errors import InputError

Answerer: TypeAlias = str | Backend
"""Who answers: an address as `--backend` takes it, or a backend of the caller's own."""

_opened: dict[tuple[str, str], Backend] = {}
_lock = threading.Lock()


def backend_of(model: str | None, backend: Answerer | None) -> Backend:
    """The one that is meant. One of each address and model is kept until exit.

    Raises `InputError` where a model is named beside a backend that has its own.
    """
    if backend is not None and not isinstance(backend, str):
        if model is not None:
            raise InputError("model goes with a backend's address, not with a backend")
        return backend
    settings = load(model=model, backend=backend)
    key = (settings.backend, settings.model)
    with _lock:
        if key not in _opened:
            _opened[key] = open_backend(settings)
            if len(_opened) == 1:
                atexit.register(_close)
        return _opened[key]


def tiers_of(model: str | None, backend: Answerer | None, larger: Answerer) -> Tiers:
    """The one that is meant, and behind it the larger one. Raises as `backend_of` does."""
    return Tiers([backend_of(model, backend), backend_of(None, larger)])


def _close() -> None:
    with _lock:
        while _opened:
            _opened.popitem()[1].close()
