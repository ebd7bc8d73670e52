"""LoRA adapters over HTTP: which are there, and under which a request is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from vedette.backends.adapted import Adapted
from vedette.backends.address import InProcess, parse_address
from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.backends.personas import Persona
from vedette.config import Settings
from vedette.errors import CapabilityMissing, FileError, InputError, ModelError
from vedette.models.adapter_file import AdapterFile
from vedette.models.fingerprint import file_sha256
from vedette.types import AdapterScales, Json

from .body import Body
from .fields import LoraScale
from .problems import Refusal
from .replies import AdapterGone, AdapterReply, Done

MOST_BACKENDS = 64
"""Sets of adapters by which measurements are kept."""

FiniteScale = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(slots=True)
class _Entry:
    """A persona as the server knows it. `scale` is its own, `everywhere` that of all requests."""

    id: int
    name: str
    scale: float
    file: AdapterFile
    everywhere: float = 0.0


class Personas:
    """The adapters of a server, by number, by name, and as models. Of one event loop.

    A number is never given again, so that it cannot come to mean another adapter.
    """

    def __init__(
        self,
        backend: Backend,
        model: str,
        ready: Sequence[Persona] = (),
        folder: Path | None = None,
    ) -> None:
        self._backend = backend
        self._model = model
        self._folder = folder
        self._next_id = 0
        self._entries: dict[str, _Entry] = {}
        self._backends: dict[AdapterScales, Adapted] = {}
        for persona in ready:
            self._enter(persona.name, persona.scale, self._local.adapters[persona.name])

    @property
    def _local(self) -> LocalBackend:
        if not isinstance(self._backend, LocalBackend):
            raise CapabilityMissing(
                "adapters are applied by a model in this process only",
                hint="serve it with --backend local",
            )
        return self._backend

    def _enter(self, name: str, scale: float, file: AdapterFile) -> _Entry:
        entry = self._entries[name] = _Entry(self._next_id, name, scale, file)
        self._next_id += 1
        self._backends.clear()  # the name may have been another adapter's
        return entry

    def model_of(self, name: str) -> str:
        """The model that a client asks for to have this adapter applied, and it alone."""
        return f"{self._model}:{name}"

    @property
    def models(self) -> dict[str, str]:
        """The adapters' names, by the models that stand for them."""
        return {self.model_of(name): name for name in self._entries}

    def scales(self, model: str, lora: Sequence[LoraScale] | None) -> AdapterScales:
        """Under which adapters a request is answered.

        `model` is the base or one of `models`. Raises `Refusal` for an unknown number, one that is
        there twice, and `lora` beside a model that says already which adapter is meant.
        """
        name = self.models.get(model)
        if name is not None and lora is not None:
            raise Refusal(
                f"the model {model!r} is an adapter already; give lora with {self._model!r}",
                param="lora",
            )
        if name is not None:
            return ((name, self._entries[name].scale),)
        if lora is None:
            every = self._entries.values()
            return tuple((each.name, each.everywhere) for each in every if each.everywhere)
        return tuple((entry.name, scale) for entry, scale in self._numbered(lora) if scale)

    def backend_of(self, adapters: AdapterScales) -> Backend:
        """The backend under adapters, always the same one: tasks keep by it what they measured."""
        if not adapters:
            return self._backend
        if adapters not in self._backends:
            if len(self._backends) == MOST_BACKENDS:
                self._backends.clear()
            self._backends[adapters] = Adapted(self._local, adapters)
        return self._backends[adapters]

    def _numbered(self, lora: Sequence[LoraScale]) -> list[tuple[_Entry, float]]:
        by_id = {entry.id: entry for entry in self._entries.values()}
        ids = [each.id for each in lora]
        for number in ids:
            if number not in by_id:
                raise Refusal(
                    f"there is no adapter {number}; GET /lora-adapters lists them",
                    code="adapter_not_found",
                    param="lora",
                )
            if ids.count(number) > 1:
                raise Refusal(f"the adapter {number} is there twice", param="lora")
        return [(by_id[each.id], each.scale) for each in lora]

    def set_everywhere(self, lora: Sequence[LoraScale]) -> None:
        """Scales for all requests that do not say; adapters that are not listed get 0."""
        chosen = {entry.name: scale for entry, scale in self._numbered(lora)}
        for entry in self._entries.values():
            entry.everywhere = chosen.get(entry.name, 0.0)

    def listed(self) -> list[Json]:
        """All of them, as llama-server lists its own, with name and model."""
        return [self._described(entry) for entry in self._entries.values()]

    def _described(self, entry: _Entry) -> Json:
        return {
            "id": entry.id,
            "name": entry.name,
            "path": entry.file.path.name,  # where files lie is nobody's business
            "scale": entry.everywhere,
            "model": self.model_of(entry.name),
            "rank": entry.file.rank,
            "alpha": entry.file.alpha,
            "task_name": entry.file.task_name,
            "prompt_prefix": entry.file.prompt_prefix,
        }

    async def add(self, name: str, path: str, scale: float) -> Json:
        """Load an adapter from the folder. Raises `Refusal` and what `add_adapter` raises."""
        local = self._local
        if self._folder is None:
            raise Refusal(
                "adapters cannot be added here: the server has no folder for them (--adapters-dir)",
                status=404,
                code="no_adapters_dir",
            )
        file = inside(self._folder, path)
        try:
            found = await asyncio.to_thread(local.add_adapter, name, file)
        except (FileError, ModelError) as error:  # said of the file as the client knows it
            raise Refusal(
                error.message.replace(str(file), path), code=error.code, param="path"
            ) from error
        return self._described(self._enter(name, scale, found))

    async def remove(self, name: str) -> Json:
        """Take an adapter away; requests under way have it to their end."""
        if name not in self._entries:
            raise Refusal(
                f"there is no adapter {name!r}", status=404, code="adapter_not_found", param="name"
            )
        del self._entries[name]
        n_users = await asyncio.to_thread(self._local.remove_adapter, name)
        return {"name": name, "deleted": True, "requests_under_way": n_users}


def identity_of(backend: Backend, ready: Sequence[Persona]) -> dict[str, Json]:
    """All that an answer depends on beside the request: the model, and the adapters by name."""
    personas: dict[str, Json] = {
        each.name: {"sha256": file_sha256(each.path), "scale": each.scale} for each in ready
    }
    return {**backend.identity, **({"personas": personas} if personas else {})}


def inside(folder: Path, path: str) -> Path:
    """The adapter file at a relative path in a folder, links followed.

    Raises `Refusal`, the same for what lies outside as for what is not there, so that nothing is
    told of the rest of the machine.
    """
    missing = Refusal(
        f"there is no adapter file {path!r} in this server's folder for them",
        status=404,
        code="file_not_found",
        param="path",
    )
    given = PurePath(path)
    if given.is_absolute() or ".." in given.parts or given.suffix != ".gguf":
        raise missing
    try:
        root = folder.resolve()
        found = (root / given).resolve()
        if found.is_relative_to(root) and found.is_file():
            return found
    except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, no text
        raise missing from error
    raise missing


class NewAdapter(Body):
    """An adapter to be loaded. `scale` is the one at which its model applies it."""

    name: str
    path: str
    scale: FiniteScale = 1.0


def adapter_router(personas: Personas) -> APIRouter:
    """The routes, over a server's adapters."""
    router = APIRouter()

    @router.get("/lora-adapters", response_model=list[AdapterReply])
    async def listed() -> JSONResponse:
        """All adapters, with their scales in requests that say none."""
        return JSONResponse(personas.listed())

    @router.post("/lora-adapters", response_model=Done)
    async def set_everywhere(body: list[LoraScale]) -> JSONResponse:
        """Set the scales in requests that say none; adapters that are not listed get 0."""
        personas.set_everywhere(body)
        return JSONResponse({"success": True})

    @router.post("/v1/adapters", status_code=201, response_model=AdapterReply)
    async def add(body: NewAdapter) -> JSONResponse:
        """Load an adapter from the server's folder of adapters."""
        return JSONResponse(await personas.add(body.name, body.path, body.scale), 201)

    @router.delete("/v1/adapters/{name}", response_model=AdapterGone)
    async def remove(name: str) -> JSONResponse:
        """Take an adapter away; requests under way have it to their end."""
        return JSONResponse(await personas.remove(name))

    return router


def check_adapters_dir(settings: Settings) -> None:
    """Raise `InputError` for a folder of adapters that is none, or cannot be used."""
    folder = settings.adapters_dir
    if folder is None:
        return
    if not folder.is_dir():
        raise InputError(f"adapters_dir is {folder}, which is no folder", hint="create it first")
    if not isinstance(parse_address(settings.backend), InProcess):
        raise InputError(
            f"adapters_dir is {folder}, and --backend {settings.backend} applies no adapters",
            hint="leave it out, or serve a model in this process",
        )
