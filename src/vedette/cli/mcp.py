"""`vedette mcp`: the tasks as tools for programs that speak MCP."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from vedette.cli.console import note
from vedette.cli.job import open_backend
from vedette.cli.serve import log_requests, missing_extra
from vedette.config import SERVE_API_KEY_VARIABLE, Settings, load
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.serve.verbs.table import Verb

PACKAGES = ("mcp", "mcp_types")


def mcp(
    *,
    tasks: str | None = None,
    http: bool = False,
    model: str | None = None,
    backend: str | None = None,
    host: str | None = None,
    port: int | None = None,
    api_key: str | None = None,
    width: int | None = None,
    threads: int | None = None,
    context_tokens: int | None = None,
    no_tune: bool = False,
    offline: bool | None = None,
    quiet: bool = False,
) -> int:
    """Offer the tasks as tools of the Model Context Protocol, on stdin and stdout or over HTTP.

    Parameters
    ----------
    tasks
        Only these, separated by commas; by default all.
    http
        Answer streamable HTTP at /mcp, until SIGTERM or Ctrl-C.
    model
        Name, hf:user/repo:QUANT or path of the weights.
    backend
        Who answers: local, llama-server:URL, llama-server:[PROGRAM@]MODEL, openai:URL#MODEL.
    host
        With --http: address to listen on; any but this machine's own needs an API key.
    port
        With --http: port to listen on; 0 is any free one.
    api_key
        With --http: a key that clients may show (Authorization: Bearer). The variable
        VEDETTE_SERVE_API_KEY keeps it out of the list of processes; `vedette keys` makes more keys.
    width
        Most sequences in one batch, or requests at once to a server.
    threads
        CPU threads.
    context_tokens
        Most tokens of prompt and answer together.
    no_tune
        Use the weights as downloaded, also where `vedette tune` made a faster copy of them.
    offline
        Never use the network.
    quiet
        No line for each request.
    """
    try:
        import vedette.serve.mcp_server  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_extra(error, "mcp", "mcp", PACKAGES) from error

    if not http:
        for name, value in (("host", host), ("port", port), ("api-key", api_key)):
            if value is not None:
                raise InputError(f"--{name} goes with --http")
        if sys.stdin is None:  # where a shell was told `<&-`
            raise InputError("stdin is closed: no client can say anything", hint="give --http")
    if api_key == "":
        raise InputError("--api-key is empty", hint="leave it out, or give a key")
    verbs = _verbs(tasks)
    settings = load(
        model=model,
        backend=backend,
        host=host,
        port=port,
        width=width,
        threads=threads,
        context_tokens=context_tokens,
        tuned=False if no_tune else None,
        offline=offline,
    )
    if http:
        return _over_http(verbs, settings, api_key, quiet=quiet)
    opened = open_backend(settings, quiet=quiet)
    if sys.stdin.isatty():
        note(f"{_told(verbs)} on stdin and stdout, for a program that speaks MCP", quiet=quiet)
    try:
        _over_stdio(opened, verbs, settings)
    finally:
        opened.close()
    return 0


def _verbs(tasks: str | None) -> list[Verb]:
    from vedette.serve.verbs.table import VERBS, find_verb

    if tasks is None:
        return list(VERBS.values())
    names = dict.fromkeys(name.strip() for name in tasks.split(","))
    return [find_verb(name) for name in names]


def _told(verbs: list[Verb]) -> str:
    return "1 task is a tool" if len(verbs) == 1 else f"{len(verbs)} tasks are tools"


def _over_stdio(opened: Backend, verbs: list[Verb], settings: Settings) -> None:
    from vedette.serve.facts import Facts
    from vedette.serve.mcp_server import create_server, serve_stdio
    from vedette.serve.options import ServeOptions

    options = ServeOptions(max_requests=settings.max_requests, deadline_s=settings.timeout_s)
    asyncio.run(serve_stdio(create_server(Facts(opened, options), verbs)))


def _over_http(verbs: list[Verb], settings: Settings, api_key: str | None, *, quiet: bool) -> int:
    from vedette.serve.facts import Facts
    from vedette.serve.keys import has_keys
    from vedette.serve.mcp_server import PATH, create_http_app, create_server
    from vedette.serve.options import ServeOptions, check_bind
    from vedette.serve.run import bind, run_app, url_of

    key = api_key or os.environ.get(SERVE_API_KEY_VARIABLE, "")
    has_key = has_keys(settings.keys_path, key)
    check_bind(settings.host, has_key=has_key)
    with bind(settings.host, settings.port) as taken:
        if not quiet:
            log_requests()
        opened = open_backend(settings, quiet=quiet)
        try:
            options = ServeOptions(
                api_key=key,
                keys_file=settings.keys_path,
                max_requests=settings.max_requests,
                max_body_bytes=settings.max_body_bytes,
                deadline_s=settings.timeout_s,
            )
            facts = Facts(opened, options)
            app = create_http_app(create_server(facts, verbs), facts, has_key=has_key)
            told = f"{_told(verbs)} at {url_of(taken)}{PATH}"
            run_app(app, taken, ready=lambda: note(told))
        finally:
            opened.close()
    return 0
