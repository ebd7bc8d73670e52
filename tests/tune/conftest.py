"""Every test here has its own cache folders, no settings from outside, and made-up speeds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from huggingface_hub import constants
from made_up_speeds import Speeds

from vedette.tune import run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """VEDETTE_HOME, empty."""
    for name in list(os.environ):
        if name.upper().startswith("VEDETTE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def speeds(monkeypatch: pytest.MonkeyPatch) -> Speeds:
    """Speeds that a test chooses; what is measured otherwise is measured."""
    made_up = Speeds()
    monkeypatch.setattr(run, "take_turns", made_up.take_turns)
    return made_up
