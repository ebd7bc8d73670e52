"""GGUF files that other tools already keep in the Hugging Face cache; used in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants

from vedette.models.names import HubName, is_shard, matches
from vedette.models.registry import HubFile


@dataclass(frozen=True, slots=True)
class CachedFile:
    """One complete file of a snapshot in the cache."""

    repo: str
    file: str
    path: Path

    @property
    def name(self) -> str:
        """The name that `vedette` knows it by."""
        return f"hf:{self.repo}/{self.file}"

    @property
    def promised_sha256(self) -> str | None:
        """The hash that Hugging Face gave for it: the cache names its blobs so."""
        blob = self.path.resolve().name
        is_hash = len(blob) == 64 and not set(blob) - set("0123456789abcdef")
        return blob if is_hash else None


def _repo_files(folder: Path) -> Iterator[CachedFile]:
    """All GGUFs of one repository's folder, those of its main revision first."""
    repo = folder.name.removeprefix("models--").replace("--", "/")
    main = folder / "refs" / "main"
    head = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    snapshots = sorted(folder.glob("snapshots/*"), key=lambda path: (path.name != head, path.name))
    for snapshot in snapshots:
        for path in sorted(snapshot.rglob("*.gguf")):
            if path.is_file():  # a dangling link is a file that was removed
                yield CachedFile(repo, path.relative_to(snapshot).as_posix(), path)


def all_cached() -> Iterator[CachedFile]:
    """Every GGUF in the cache."""
    for folder in sorted(Path(constants.HF_HUB_CACHE).glob("models--*")):
        yield from _repo_files(folder)


def cached(wanted: HubFile | HubName) -> CachedFile | None:
    """The file that is wanted, if the cache has it whole. The first of several revisions."""
    if isinstance(wanted, HubFile):
        wanted = HubName(wanted.repo, file=wanted.file)
    folder = Path(constants.HF_HUB_CACHE) / f"models--{wanted.repo.replace('/', '--')}"
    found = (each for each in _repo_files(folder) if matches(wanted, each.file))
    return next((each for each in found if not is_shard(each.file)), None)
