"""What the GGUF files say that a command names, where they are on this machine."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from vedette.errors import FileError, ModelCorrupt
from vedette.models.gguf_facts import Facts, read_facts
from vedette.models.gguf_header import Header, read_header

from .case import Case
from .settings import known

MODEL_NAMES = ("-m", "--model")
TOKENS_KEY = "tokenizer.ggml.tokens"


def target_path(case: Case) -> Path | None:
    """The model's file, if it is named plainly and is there."""
    return _existing(case.value(MODEL_NAMES, "LLAMA_ARG_MODEL"))


def draft_path(case: Case) -> Path | None:
    """The draft model's file, likewise."""
    return _existing(case.setting_value("model"))


def draft_type(case: Case) -> tuple[str, str]:
    """The speculation type for the draft file, and what that was decided from."""
    path = draft_path(case)
    if path is None:
        return "draft-simple", "the draft file is not here; other kinds have other types"
    try:
        architecture = facts_of(path).architecture
    except (FileError, ModelCorrupt):
        return "draft-simple", "the draft file cannot be read"
    kind = known().architectures.get(architecture, "draft-simple")
    return kind, f"the draft file's architecture is {architecture}"


@lru_cache(maxsize=8)
def facts_of(path: Path) -> Facts:
    """The facts of a file. Raises `FileError` and `ModelCorrupt`."""
    return read_facts(path)


@lru_cache(maxsize=4)
def header_with_tokens(path: Path) -> Header:
    """The header with its list of tokens. Raises `FileError` and `ModelCorrupt`."""
    return read_header(path, keep=frozenset((TOKENS_KEY,)))


def _existing(name: str | None) -> Path | None:
    if not name:
        return None
    path = Path(os.path.expanduser(name))
    return path if path.is_file() else None
