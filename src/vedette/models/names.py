"""What a model's name can look like, without looking anywhere."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from vedette.errors import ModelNotFound

DEFAULT_QUANT = "Q4_K_M"
_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


@dataclass(frozen=True, slots=True)
class RegistryName:
    """A short name, as in the registry."""

    name: str


@dataclass(frozen=True, slots=True)
class HubName:
    """A GGUF in a Hugging Face repository: exactly one of `file` and `quant` is set."""

    repo: str
    file: str | None = None
    quant: str | None = None

    def __str__(self) -> str:
        return f"hf:{self.repo}/{self.file}" if self.file else f"hf:{self.repo}:{self.quant}"


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A path."""

    path: Path


ModelName: TypeAlias = RegistryName | HubName | LocalFile


def parse_name(name: str) -> ModelName:
    """Tell a registry name, `hf:...` and a path apart. Raises `ModelNotFound` for none of these."""
    text = name.strip()
    if text.startswith("hf:"):
        return _parse_hub(text)
    if not text:
        raise ModelNotFound("the model's name is empty", hint="`vedette models` lists the names")
    if "/" in text or text.lower().endswith(".gguf") or text.startswith("~"):
        # Unlike Path.expanduser, this leaves `~nobody` as it stands: a file that is not there.
        return LocalFile(Path(os.path.expanduser(text)))
    return RegistryName(text)


def _parse_hub(text: str) -> HubName:
    rest, colon, quant = text.removeprefix("hf:").partition(":")
    pieces = rest.split("/")
    repo, file = "/".join(pieces[:2]), "/".join(pieces[2:])
    good = _REPO.fullmatch(repo) and not {".", "..", ""} & set(pieces)
    if not good or (colon and (file or not quant)) or (file and not file.lower().endswith(".gguf")):
        raise ModelNotFound(
            f"{text!r} is not a Hugging Face name",
            hint="write hf:user/repo:QUANT or hf:user/repo/file.gguf",
        )
    return HubName(repo, file=file) if file else HubName(repo, quant=quant or DEFAULT_QUANT)


def matches(wanted: HubName, file: str) -> bool:
    """Is this file of the repository the one that the name means? Vision projectors never are."""
    if wanted.file is not None:
        return file == wanted.file
    path = PurePosixPath(file)
    if path.suffix.lower() != ".gguf" or path.name.lower().startswith("mmproj"):
        return False
    stem = _SHARD.sub("", path.stem).lower()
    quant = (wanted.quant or "").lower()
    return stem == quant or stem.endswith((f"-{quant}", f".{quant}", f"_{quant}"))


def is_shard(file: str) -> bool:
    """Is this one piece of a model that is split over several files?"""
    return _SHARD.search(PurePosixPath(file).stem) is not None
