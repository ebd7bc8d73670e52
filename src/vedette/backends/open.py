"""The backend that the settings ask for."""

from __future__ import annotations

import os
from contextlib import ExitStack

from vedette.config import API_KEY_VARIABLE, Settings, load
from vedette.errors import InputError
from vedette.models.fingerprint import file_sha256
from vedette.models.locate import locate
from vedette.models.progress import Progress

from .adapted import Adapted
from .address import InProcess, OpenAIServer, OwnServer, RunningServer, parse_address
from .base import Backend
from .find_server import find_server
from .http_client import is_loopback
from .llama_server import LlamaServerBackend
from .local import LocalBackend, fetch, options_for
from .openai_http import OpenAIBackend
from .own_server import OwnServerBackend
from .personas import parse_personas
from .server_process import ServerOptions
from .tiers import Tiers

OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
SLOT_TOKENS = 4096
"""Room for one request in a server of our own, unless `context_tokens` says otherwise."""


def open_backend(settings: Settings, progress: Progress | None = None) -> Backend:
    """Load the model, start the server, or connect to it. The caller closes it.

    Weights that are needed are fetched first, if the network may be used. Raises `InputError` for
    settings that contradict each other, and what the backend raises that cannot be had.
    """
    address = parse_address(settings.backend)
    if not isinstance(address, InProcess):
        _refuse_lora(settings)
    match address:
        case InProcess(model):
            return _in_process(_with_model(settings, model), progress)
        case OwnServer(model, program):
            _refuse_flags(settings, "model", "draft", "mmproj", "speculate", "tuned")
            return _own(_with_model(settings, model), program, progress)
        case RunningServer(url):
            _refuse_flags(
                settings,
                "model",
                "threads",
                "context_tokens",
                "kv_type",
                "draft",
                "mmproj",
                "speculate",
                "tuned",
            )
            _check_network(settings, url)
            key = os.environ.get(API_KEY_VARIABLE, "")
            return LlamaServerBackend(
                url, width=settings.width, timeout_s=settings.timeout_s, key=key
            )
        case OpenAIServer(url, model):
            _refuse_flags(
                settings, "model", "threads", "kv_type", "draft", "mmproj", "speculate", "tuned"
            )
            _check_network(settings, url)
            return OpenAIBackend(
                url,
                model,
                key=os.environ.get(API_KEY_VARIABLE) or os.environ.get(OPENAI_KEY_VARIABLE, ""),
                width=settings.width,
                context_tokens=settings.context_tokens,
                timeout_s=settings.timeout_s,
            )


def open_tiers(settings: Settings, larger: str, progress: Progress | None = None) -> Tiers:
    """The backend of the settings, and behind it the one at the address `larger`.

    Flags that are about a model (its name, its threads where it runs elsewhere) are the smaller
    one's; that no tuned copy is wanted holds for both. Raises what `open_backend` raises; nothing
    stays open then.
    """
    of_larger = _larger_settings(settings, larger)
    with ExitStack() as stack:
        tiers = []
        for one in (settings, of_larger):
            tiers.append(open_backend(one, progress))
            stack.callback(tiers[-1].close)
        opened = Tiers(tiers)
        stack.pop_all()
        return opened


def _larger_settings(settings: Settings, larger: str) -> Settings:
    address = parse_address(larger)
    return load(
        backend=larger,
        width=settings.width,
        offline=settings.offline,
        lora="",  # adapters are made for one model, which is the smaller one here
        mmproj="auto" if isinstance(address, InProcess) else None,  # and so is a projector
        tuned=settings.tuned if isinstance(address, InProcess) else None,
        threads=settings.threads if isinstance(address, InProcess | OwnServer) else None,
    )


def _with_model(settings: Settings, model: str | None) -> Settings:
    """The settings with the model of the address. Raises `InputError` if a flag names another."""
    if model is None:
        return settings
    if settings.origin("model").kind == "flag" and settings.model != model:
        raise InputError(
            f"--model is {settings.model!r}, and --backend names the model {model!r}",
            hint="give one of them",
        )
    return settings.model_copy(update={"model": model})


def _refuse_flags(settings: Settings, *names: str) -> None:
    """What a server has settled when it was started cannot be asked for. Raises `InputError`."""
    for name in names:
        if settings.origin(name).kind == "flag":
            raise InputError(
                f"{name} has no effect with --backend {settings.backend}",
                hint="leave it out; it is settled where the server is started",
            )


def _refuse_lora(settings: Settings) -> None:
    """Wherever adapters were asked for: without them the answers would be others."""
    if settings.lora:
        raise InputError(
            f"lora is {settings.lora!r}, and --backend {settings.backend} applies no adapters",
            hint="leave it out, or let the engine in this process answer",
        )


def _check_network(settings: Settings, url: str) -> None:
    if settings.offline and not is_loopback(url):
        raise InputError(f"{url} is not this machine, and offline forbids the network")


def _in_process(settings: Settings, progress: Progress | None) -> Backend:
    """The engine in this process, under the adapters that all requests are answered with."""
    personas = parse_personas(settings.lora)
    backend = _local(settings, progress)
    if not personas:
        return backend
    try:
        backend.add_personas(personas)
        return Adapted(backend, tuple((each.name, each.scale) for each in personas))
    except BaseException:
        backend.close()
        raise


def _local(settings: Settings, progress: Progress | None) -> LocalBackend:
    """The engine with the model of the settings, fetched if need be, and no adapters yet.

    Raises what `fetch` and `LocalBackend` raise.
    """
    fetch(settings, progress)
    options = options_for(settings, progress)
    backend = LocalBackend(settings.model, options, use_tuned=settings.tuned)
    if backend.is_tuned and progress is not None:
        progress.note(
            f"{backend.name}: answers come from the copy that `vedette tune` made; --no-tune "
            f"(VEDETTE_TUNED=false) is for the weights as downloaded"
        )
    return backend


def _own(settings: Settings, program: str | None, progress: Progress | None) -> Backend:
    path = find_server(program)
    fetch(settings, progress)
    weights = locate(settings.model)
    tokens = settings.context_tokens
    options = ServerOptions(
        threads=settings.thread_count,
        n_slots=settings.width,
        slot_tokens=SLOT_TOKENS if tokens is None else max(1, tokens // settings.width),
        kv_type=settings.kv_type,
    )
    return OwnServerBackend(
        path,
        weights.path,
        options,
        sha256=weights.sha256 or file_sha256(weights.path),
        name=weights.name,
        timeout_s=settings.timeout_s,
    )
