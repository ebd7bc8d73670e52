"""From a name to a file on this machine. Looks only here; `pull` is what fetches."""

from __future__ import annotations

import difflib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from vedette.errors import FileError, ModelNotFound
from vedette.models import store
from vedette.models.fingerprint import file_sha256
from vedette.models.home import models_dir
from vedette.models.hub_cache import CachedFile, cached
from vedette.models.names import HubName, LocalFile, ModelName, RegistryName, matches, parse_name
from vedette.models.registry import HubFile, Model, registry
from vedette.models.units import human_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A GGUF on this machine.

    `sha256` is known for what was pulled or lies in the Hugging Face cache; for any other path it
    is None, and `file_sha256(path)` computes and remembers it.
    """

    path: Path
    name: str
    sha256: str | None
    size_bytes: int


def locate(name: str) -> Weights:
    """Find the weights on this machine.

    Raises `ModelNotFound` with the command that would fetch them, `HashMismatch` for a cached file
    that was changed, `FileError` for one that cannot be read.
    """
    wanted = parse_name(name)
    found = find_local(wanted)
    if found is None:
        raise _absent(wanted)
    return found


def resolve(name: str) -> Path:
    """The path alone; see `locate`."""
    return locate(name).path


def find_local(wanted: ModelName) -> Weights | None:
    """As `locate`, but None for a fetchable model that is not here."""
    match wanted:
        case LocalFile(path):
            return _at_path(path)
        case RegistryName(name):
            return _registered(registry_entry(name))
        case HubName():
            return _from_hub(wanted)


def registry_entry(name: str) -> Model:
    """The registry's model. Raises `ModelNotFound` with the nearest names."""
    known = registry()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]}? " if near else f"known names: {', '.join(known)}; "
    raise ModelNotFound(
        f"no model is called {name!r}", hint=advice + "hf:user/repo:QUANT and paths work too"
    )


def _at_path(path: Path) -> Weights:
    if not path.exists():
        raise ModelNotFound(
            f"there is no file {path}",
            hint="`vedette models` lists the names; a Hugging Face file is hf:user/repo:QUANT",
        )
    if not path.is_file():
        raise FileError(f"{path} is not a file", hint="give the path of one GGUF file")
    if not os.access(path, os.R_OK):
        raise FileError(f"cannot read {path}: permission denied")
    if path.absolute().parent == models_dir():
        for manifest in store.manifests():
            if manifest.file == path.name:
                return _stored(manifest)
    return Weights(path=path, name=str(path), sha256=None, size_bytes=path.stat().st_size)


def _registered(model: Model) -> Weights | None:
    manifest = store.find(model.sha256)
    if manifest is not None:
        return _stored(manifest)
    for source in model.sources:
        found = cached(source) if isinstance(source, HubFile) else None
        # Another revision of the file is simply not this model.
        if found is not None and file_sha256(found.path) == model.sha256:
            return _weights(found.path, model.name, model.sha256)
    return None


def _from_hub(wanted: HubName) -> Weights | None:
    for manifest in store.manifests():
        repo_file = manifest.name.removeprefix(f"hf:{wanted.repo}/")
        if repo_file != manifest.name and matches(wanted, repo_file):
            return _stored(manifest)
    for model in registry().values():
        for source in model.sources:
            if not isinstance(source, HubFile) or source.repo != wanted.repo:
                continue
            if matches(wanted, source.file):
                found = _registered(model)
                if found is not None:
                    return found
    in_cache = cached(wanted)
    return _hub_cached(in_cache) if in_cache is not None else None


def _stored(manifest: store.Manifest) -> Weights:
    return _weights(store.checked_path(manifest), manifest.name, manifest.sha256)


def _hub_cached(found: CachedFile) -> Weights:
    sha256 = file_sha256(found.path)
    promised = found.promised_sha256
    if promised is not None and promised != sha256:
        raise store.mismatch(str(found.path), found=sha256, expected=promised, name=found.name)
    return _weights(found.path, found.name, sha256)


def _weights(path: Path, name: str, sha256: str) -> Weights:
    return Weights(path=path, name=name, sha256=sha256, size_bytes=path.stat().st_size)


def _absent(wanted: ModelName) -> ModelNotFound:
    name = wanted.name if isinstance(wanted, RegistryName) else str(wanted)
    size = ""
    if isinstance(wanted, RegistryName):
        size = f", {human_bytes(registry_entry(name).size_bytes)}"
    return ModelNotFound(
        f"the model {name} is not on this machine",
        hint=f"`vedette pull {shlex.quote(name)}` fetches it{size}",
    )
