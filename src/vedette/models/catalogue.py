"""All models that can be named: those of the registry, and those that are on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from vedette.models import store, tuned
from vedette.models.home import models_dir
from vedette.models.hub_cache import CachedFile, all_cached
from vedette.models.registry import HubFile, Model, registry

Place: TypeAlias = Literal["here", "hub cache", "partly here", "not here"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One row. `present_bytes` is less than `size_bytes` while a pull is unfinished.

    `tuned` is how the copy that is used on this machine is packed, None where there is none.
    """

    name: str
    size_bytes: int
    present_bytes: int
    licence: str
    architecture: str
    place: Place
    path: Path | None
    tuned: str | None = None


def catalogue() -> list[Listed]:
    """The registry first, then what else is here. Hashes nothing: `locate` does when it is used."""
    cached = list(all_cached())
    manifests = {manifest.sha256: manifest for manifest in store.manifests()}
    rows = [_registered(model, manifests, cached) for model in registry().values()]
    taken = {row.path for row in rows}
    rows += [
        Listed(
            name=manifest.name,
            size_bytes=manifest.size_bytes,
            present_bytes=manifest.size_bytes,
            licence=manifest.licence,
            architecture="",
            place="here",
            path=models_dir() / manifest.file,
            tuned=_tuned(manifest.sha256),
        )
        for manifest in manifests.values()
        if models_dir() / manifest.file not in taken
    ]
    rows += list(_only_cached(cached, taken))
    return rows


def _registered(
    model: Model, manifests: dict[str, store.Manifest], cached: list[CachedFile]
) -> Listed:
    path, place, present_bytes = _where(model, manifests, cached)
    return Listed(
        name=model.name,
        size_bytes=model.size_bytes,
        present_bytes=present_bytes,
        licence=model.licence,
        architecture=model.architecture,
        place=place,
        path=path,
        tuned=_tuned(model.sha256) if path is not None else None,
    )


def _tuned(sha256: str) -> str | None:
    found = tuned.find(sha256)
    return found.copy.type if found is not None and found.copy is not None else None


def _where(
    model: Model, manifests: dict[str, store.Manifest], cached: list[CachedFile]
) -> tuple[Path | None, Place, int]:
    if model.sha256 in manifests:
        return models_dir() / manifests[model.sha256].file, "here", model.size_bytes
    wanted = {(each.repo, each.file) for each in model.sources if isinstance(each, HubFile)}
    for each in cached:
        if (each.repo, each.file) in wanted and each.promised_sha256 in (model.sha256, None):
            return each.path, "hub cache", model.size_bytes
    partial = store.beside(model, ".partial")
    if partial.is_file():
        return None, "partly here", partial.stat().st_size
    return None, "not here", 0


def _only_cached(cached: list[CachedFile], taken: set[Path | None]) -> Iterator[Listed]:
    for each in cached:
        if each.path not in taken:
            size_bytes = each.path.stat().st_size
            yield Listed(
                name=each.name,
                size_bytes=size_bytes,
                present_bytes=size_bytes,
                licence="not stated",
                architecture="",
                place="hub cache",
                path=each.path,
                tuned=_tuned(each.promised_sha256) if each.promised_sha256 else None,
            )
