"""The models that vedette fetched: a file, and beside it a manifest that is written last.

models/<name>-<hash>.gguf       the weights, under this name only once their hash was right
models/<name>-<hash>.json       the manifest: there means complete
models/<name>-<hash>.partial    what an interrupted pull has so far
models/<name>-<hash>.lock       held by the one process that pulls it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from vedette.errors import FileError, HashMismatch
from vedette.models.atomic import write_json
from vedette.models.fingerprint import file_sha256
from vedette.models.home import models_dir
from vedette.models.partial import Partial
from vedette.models.registry import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was fetched, and how the file looked when its hash was last right."""

    name: str
    file: str
    size_bytes: int
    mtime_ns: int
    sha256: str
    licence: str
    source: str


_MANIFEST = TypeAdapter(Manifest)


def base_path(model: Model) -> Path:
    """The path in the store without its ending: content-addressed, yet readable."""
    stem = model.name.removeprefix("hf:").removesuffix(".gguf")
    plain = re.sub(r"[^A-Za-z0-9._-]+", "--", stem)
    return models_dir() / f"{plain}-{model.sha256[:12]}"


def beside(model: Model, ending: str) -> Path:
    """`base_path` with an ending; names have dots, so `with_suffix` will not do."""
    base = base_path(model)
    return base.with_name(base.name + ending)


def manifests() -> Iterator[Manifest]:
    """Every complete model of the store. Raises `FileError` for a manifest that is not one."""
    for path in sorted(models_dir().glob("*.json")):
        manifest = _read(path)
        if (models_dir() / manifest.file).is_file():
            yield manifest


def _read(path: Path) -> Manifest:
    try:
        return _MANIFEST.validate_json(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise FileError(
            f"{path} is not a manifest of a model", hint="remove it and pull the model again"
        ) from error


def find(sha256: str) -> Manifest | None:
    """The complete model with this hash."""
    return next((each for each in manifests() if each.sha256 == sha256), None)


def checked_path(manifest: Manifest) -> Path:
    """The model's file; hashed again if it changed since. Raises `HashMismatch`."""
    path = models_dir() / manifest.file
    stat = path.stat()
    if (stat.st_size, stat.st_mtime_ns) != (manifest.size_bytes, manifest.mtime_ns):
        found = file_sha256(path)
        if found != manifest.sha256:
            raise mismatch(str(path), found=found, expected=manifest.sha256, name=manifest.name)
        _write(replace(manifest, mtime_ns=stat.st_mtime_ns))
    return path


def mismatch(what: str, *, found: str, expected: str, name: str) -> HashMismatch:
    """The error for bytes that are not the promised ones."""
    return HashMismatch(
        f"{what} has SHA-256 {found}, expected {expected}",
        hint=f"`vedette pull {name}` fetches it anew",
    )


def adopt(partial: Partial, model: Model, source: str) -> Path:
    """Put a received file, whose hash the caller has checked, in its place; manifest last."""
    target = beside(model, ".gguf")
    partial.move_to(target)
    _write(
        Manifest(
            name=model.name,
            file=target.name,
            size_bytes=model.size_bytes,
            mtime_ns=target.stat().st_mtime_ns,
            sha256=model.sha256,
            licence=model.licence,
            source=source,
        )
    )
    return target


def remove(manifest: Manifest) -> None:
    """Forget a model: manifest first, then the file."""
    path = models_dir() / manifest.file
    path.with_name(path.name.removesuffix(".gguf") + ".json").unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _write(manifest: Manifest) -> None:
    path = models_dir() / (manifest.file.removesuffix(".gguf") + ".json")
    try:
        write_json(path, asdict(manifest))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
