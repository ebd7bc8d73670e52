"""What `vedette tune` found for a model on this machine, and the copy of it that is faster here.

tuned/<source hash>-<machine>.json    the manifest: there means complete
tuned/<source hash>-<machine>.gguf    the copy; none where the source is best as it is
tuned/<source hash>-<machine>.lock    held by the one process that tunes it
tuned/<source hash>-<machine>.work/   what it is at; left over only if it was killed

A manifest holds for one CPU and one build of llama.cpp: with another of either nothing is found.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from vedette.cpu import Cpu, this_cpu
from vedette.errors import FileError, HashMismatch
from vedette.models.atomic import write_json
from vedette.models.fingerprint import file_sha256
from vedette.models.home import home, locked, make_dir
from vedette.models.progress import Progress

BINDING = "llama-cpp-python"
Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedCopy:
    """A GGUF made of the source's weights: `type` is how they are packed now."""

    type: str
    sha256: str
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The manifest. `machine` and `build` are words, `date` is the day as ISO 8601 has it.

    `tokens` and `sequences` are the cost curve of the copy, or of the source where there is none:
    seconds of a step by how many tokens of one sequence it takes, and by how many sequences go on
    by one token each, with so many `threads` and a cache of `kv_type`. `report` is the whole
    measurement, as `vedette tune --json` prints it.
    """

    name: str
    source_sha256: str
    machine: str
    build: str
    date: str
    copy: TunedCopy | None
    threads: int
    kv_type: str
    tokens: Points
    sequences: Points
    report: dict[str, JsonValue]

    @property
    def path(self) -> Path | None:
        """Where the copy lies."""
        return None if self.copy is None else beside(self.source_sha256, ".gguf")


_TUNING = TypeAdapter(Tuning)


def machine_words(cpu: Cpu) -> str:
    """The CPU, its features and its number of logical processors."""
    features = " ".join(cpu.features) if cpu.features is not None else "features unknown"
    return f"{cpu.name}, {cpu.cpus} CPUs, {features}"


def build_words() -> str:
    """The binding's version, and a part of the hash of the kernels that were built with it."""
    version = importlib.metadata.version(BINDING)
    package = importlib.util.find_spec("llama_cpp")
    for folder in (package.submodule_search_locations or ()) if package else ():
        kernels = sorted(Path(folder, "lib").glob("*ggml-cpu*"))
        if kernels:
            return f"{BINDING} {version}, kernels {file_sha256(kernels[0])[:12]}"
    return f"{BINDING} {version}"


def beside(source_sha256: str, ending: str) -> Path:
    """The path of what belongs to a source on this machine, with an ending."""
    here = f"{machine_words(this_cpu())}; {build_words()}"
    mark = hashlib.sha256(here.encode()).hexdigest()[:8]
    return home() / "tuned" / f"{source_sha256[:16]}-{mark}{ending}"


def any_stored() -> bool:
    """Whether there is any; if not, nobody needs a file's hash for it."""
    return (home() / "tuned").is_dir()


def find(source_sha256: str) -> Tuning | None:
    """What was found for these weights here. Raises `FileError` for a damaged manifest."""
    if not any_stored():
        return None
    path = beside(source_sha256, ".json")
    try:
        tuning = _TUNING.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise FileError(
            f"{path} is not what `vedette tune` writes", hint="delete it and tune the model again"
        ) from error
    if tuning.path is not None and not tuning.path.is_file():
        return None  # the copy was deleted by hand: as if it had never been made
    return tuning


def checked_path(tuning: Tuning) -> Path:
    """The copy's file; hashed again if it changed since. Raises `HashMismatch`."""
    path, copy = tuning.path, tuning.copy
    assert path is not None
    assert copy is not None
    stat = path.stat()
    if (stat.st_size, stat.st_mtime_ns) != (copy.size_bytes, copy.mtime_ns):
        if file_sha256(path) != copy.sha256:
            raise HashMismatch(
                f"the tuned copy {path} is not the file that was made",
                hint=f"`vedette tune {tuning.name} --forget` removes it",
            )
        keep(replace(tuning, copy=replace(copy, mtime_ns=stat.st_mtime_ns)))
    return path


def keep(tuning: Tuning) -> Path:
    """Write the manifest; the copy, if there is one, is in its place already."""
    path = beside(tuning.source_sha256, ".json")
    try:
        # Through JSON and back: tuples become lists.
        write_json(path, json.loads(json.dumps(asdict(tuning))))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    return path


def adopt(made: Path, source_sha256: str, type_: str) -> TunedCopy:
    """Put a finished file in the copy's place. The manifest, without which it is not used, follows.

    Raises `FileError`.
    """
    target = beside(source_sha256, ".gguf")
    sha256 = file_sha256(made)
    try:
        beside(source_sha256, ".json").unlink(missing_ok=True)
        made.replace(target)
        stat = target.stat()
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror}") from error
    return TunedCopy(type=type_, sha256=sha256, size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns)


def forget(source_sha256: str) -> int:
    """Remove what was found, manifest first; how many bytes the copy had. Raises `FileError`."""
    copy = beside(source_sha256, ".gguf")
    try:
        beside(source_sha256, ".json").unlink(missing_ok=True)
        n_bytes = copy.stat().st_size if copy.is_file() else 0
        copy.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot remove {copy}: {error.strerror}") from error
    return n_bytes


@contextmanager
def workplace(source_sha256: str, progress: Progress) -> Iterator[Path]:
    """An empty folder for the files under way, held by one process and gone at the end."""
    make_dir(home() / "tuned")
    folder = beside(source_sha256, ".work")

    def wait() -> None:
        progress.note("another process tunes this model; waiting for it")

    with locked(beside(source_sha256, ".lock"), on_wait=wait):
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
        try:
            yield make_dir(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
