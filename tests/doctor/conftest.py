"""Every test here has its own cache folders and no settings from outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from huggingface_hub import constants


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """VEDETTE_HOME, without a model in it."""
    for name in list(os.environ):
        if name.upper().startswith("VEDETTE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"
