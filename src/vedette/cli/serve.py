"""`vedette serve`: a model behind an OpenAI-compatible HTTP door."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from vedette.cli.console import note
from vedette.cli.job import open_backend
from vedette.cli.red_lines import is_small
from vedette.config import SERVE_API_KEY_VARIABLE, Settings, load, section
from vedette.errors import CapabilityMissing, FileError, InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.gateway.tables import GatewayTable
    from vedette.serve.file_store import FileStore

EXTRA = ("fastapi", "starlette", "uvicorn", "prometheus_client", "python_multipart")


def serve(
    *,
    model: str | None = None,
    backend: str | None = None,
    host: str | None = None,
    port: int | None = None,
    api_key: str | None = None,
    alias: str | None = None,
    max_requests: int | None = None,
    files_dir: str | None = None,
    width: int | None = None,
    threads: int | None = None,
    context_tokens: int | None = None,
    draft: str | None = None,
    mmproj: str | None = None,
    speculate: str | None = None,
    lora: tuple[str, ...] = (),
    adapters_dir: str | None = None,
    fetch_pictures: bool = False,
    no_tune: bool = False,
    offline: bool | None = None,
    quiet: bool = False,
) -> int:
    """Answer HTTP requests as OpenAI's API does, until SIGTERM or Ctrl-C.

    Parameters
    ----------
    model
        Name, hf:user/repo:QUANT or path of the weights.
    backend
        Who answers: local, llama-server:URL, llama-server:[PROGRAM@]MODEL, openai:URL#MODEL.
    host
        Address to listen on; any but this machine's own needs an API key.
    port
        Port to listen on; 0 is any free one.
    api_key
        A key that opens everything (Authorization: Bearer). The variable VEDETTE_SERVE_API_KEY
        keeps it out of the list of processes; `vedette keys` makes more keys.
    alias
        Name under which clients ask for the model.
    max_requests
        Most answers under way or waiting; more are refused with 429.
    files_dir
        Folder for files and batches (by default one among your data); it is this server's alone.
    width
        Most sequences in one batch, or requests at once to a server.
    threads
        CPU threads.
    context_tokens
        Most tokens of prompt and answer together.
    draft
        A smaller model of the same vocabulary that may guess tokens.
    mmproj
        Vision projector of the model; auto takes mmproj*.gguf beside the model, none is without.
    speculate
        Who guesses tokens: auto, off, ngram:N, draft:N or drawn:N.
    lora
        A LoRA adapter to have ready: NAME=PATH or NAME=PATH:SCALE; may be given again.
    adapters_dir
        Folder of adapters that clients may add and take away.
    fetch_pictures
        Fetch pictures that requests name by http(s) URLs; else they must come as data URLs.
    no_tune
        Use the weights as downloaded, also where `vedette tune` made a faster copy of them.
    offline
        Never use the network.
    quiet
        No line for each request.
    """
    from vedette.backends.personas import parse_personas

    try:
        from vedette.serve.adapters import check_adapters_dir
        from vedette.serve.app import create_app
        from vedette.serve.keys import has_keys
        from vedette.serve.options import ServeOptions, check_bind
        from vedette.serve.run import bind, run_app, url_of
    except ModuleNotFoundError as error:
        raise missing_extra(error, "serving") from error

    settings = load(
        model=model,
        backend=backend,
        host=host,
        port=port,
        max_requests=max_requests,
        files_dir=files_dir,
        width=width,
        threads=threads,
        context_tokens=context_tokens,
        draft=draft,
        mmproj=mmproj,
        speculate=speculate,
        lora=",".join(lora) if lora else None,
        adapters_dir=adapters_dir,
        tuned=False if no_tune else None,
        offline=offline,
    )
    if fetch_pictures and settings.offline:
        raise InputError("--fetch-pictures uses the network, which --offline forbids")
    if api_key == "":
        raise InputError("--api-key is empty", hint="leave it out, or give a key")
    key = api_key or os.environ.get(SERVE_API_KEY_VARIABLE, "")
    check_bind(settings.host, has_key=has_keys(settings.keys_path, key))
    check_adapters_dir(settings)
    table = _gateway_table(settings)
    taken = bind(settings.host, settings.port)
    with taken, ExitStack() as stack:
        if not quiet:
            log_requests()
        files = open_files(settings)
        if files is not None:
            stack.enter_context(files)
        opened = without_adapters(open_backend(settings, quiet=quiet, sees=True))
        gateway = None
        try:
            options = ServeOptions(
                model=alias or opened.name.partition(", tuned")[0],
                api_key=key,
                keys_file=settings.keys_path,
                max_requests=settings.max_requests,
                max_body_bytes=settings.max_body_bytes,
                deadline_s=settings.timeout_s,
                personas=parse_personas(settings.lora),
                adapters_dir=settings.adapters_dir,
                red_lines=is_small(settings),
                fetch_pictures=fetch_pictures,
            )
            if table is not None:
                from vedette.gateway.open import open_gateway

                gateway = open_gateway(table, settings, opened, options.model)
            url = url_of(taken)
            run_app(
                create_app(opened, options, files, gateway),
                taken,
                ready=lambda: note(f"{options.model} answers at {url}/v1"),
            )
        finally:
            if gateway is not None:
                gateway.close_files()
            opened.close()
    return 0


def _gateway_table(settings: Settings) -> GatewayTable | None:
    """The table `[gateway]` of the configuration, found right before a model is loaded."""
    if section("gateway") is None:
        return None
    from vedette.gateway.open import configured

    return configured(settings)


def missing_extra(
    error: ModuleNotFoundError, what: str, extra: str = "serve", more: tuple[str, ...] = ()
) -> CapabilityMissing:
    """The extra to install for `what`, whose packages are those of serve and `more`.

    Raises the error itself where it is about something else.
    """
    if error.name is None or error.name.partition(".")[0] not in (*EXTRA, *more):
        raise error
    return CapabilityMissing(
        f"{what} needs the package {error.name}, which is not installed",
        hint=f"pip install 'vedette[{extra}]'",
    )


def without_adapters(backend: Backend) -> Backend:
    """The backend with its adapters ready: a request says under which it is answered."""
    from vedette.backends.adapted import Adapted

    return backend.local if isinstance(backend, Adapted) else backend


def open_files(settings: Settings) -> FileStore | None:
    """The folder of files; None where the default one cannot be had, which is said.

    Raises `FileError` for one that was asked for.
    """
    import platformdirs

    from vedette.serve.file_store import FileStore

    folder = settings.files_dir or platformdirs.user_data_path("vedette") / "serve"
    try:
        return FileStore(
            folder,
            most_file_bytes=settings.max_file_bytes,
            most_bytes=settings.max_files_bytes,
        )
    except FileError as error:
        if settings.files_dir is not None:
            raise
        note(f"no files and no batches here: {error}")
        return None


def log_requests() -> None:
    """Have a line for each request go to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("vedette.serve")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
