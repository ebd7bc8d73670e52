"""Models that many tests share, built once per session."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tiny_gguf import TINY_KINDS, TinyKind, build_tiny

# A shell that starts the tests in the background has them ignore Ctrl-C, and their children too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says nothing about it; machines are busy. The same examples each time,
# so that a change is what makes a test fail; `--hypothesis-profile wide` looks for new ones.
settings.register_profile("wide", parent=settings(), deadline=None)
settings.register_profile("same", parent=settings(), deadline=None, derandomize=True)
settings.load_profile("same")


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[TinyKind, Path]:
    """The tiny random model of every memory kind."""
    folder = tmp_path_factory.mktemp("tiny")
    return {kind: build_tiny(kind, folder / f"tiny-{kind}.gguf") for kind in TINY_KINDS}


@pytest.fixture(scope="session")
def tiny_full(tiny_models: dict[TinyKind, Path]) -> Path:
    """Full attention: suffixes can be dropped, any prefix shared."""
    return tiny_models["full"]


@pytest.fixture(scope="session")
def tiny_sliding(tiny_models: dict[TinyKind, Path]) -> Path:
    """Sliding-window attention in one of two layers."""
    return tiny_models["sliding"]


@pytest.fixture(scope="session")
def tiny_recurrent(tiny_models: dict[TinyKind, Path]) -> Path:
    """One state per sequence."""
    return tiny_models["recurrent"]


@pytest.fixture(scope="session")
def tiny_hybrid(tiny_models: dict[TinyKind, Path]) -> Path:
    """Attention and a state."""
    return tiny_models["hybrid"]


@pytest.fixture(scope="session", params=TINY_KINDS)
def tiny_any(request: pytest.FixtureRequest, tiny_models: dict[TinyKind, Path]) -> Path:
    """Each kind in turn; the test's id names it."""
    return tiny_models[request.param]
