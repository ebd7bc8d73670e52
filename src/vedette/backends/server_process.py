"""A llama-server of our own: started, waited for, and always stopped after use."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from vedette.errors import EngineFailed

from .server_program import (
    FLASH_ATTENTION,
    how_it_ended,
    interrupts_held_back,
    options_of,
    program_environment,
)

HOST = "127.0.0.1"
HEALTH_EVERY_S = 0.1
LOG_TAIL_LINES = 3
END_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How the server is started: `n_slots` requests at once with `slot_tokens` each.

    `flash_attention` false switches off what the server would choose to use where it can.
    `start_timeout_s` bounds the loading, `stop_timeout_s` how long it may take to go by itself.
    `more` are further options as they stand, after ours, so that they win.
    """

    threads: int
    n_slots: int = 1
    slot_tokens: int = 4096
    kv_type: str = "f16"
    flash_attention: bool = True
    cpu_only: bool = False
    start_timeout_s: float = 300
    stop_timeout_s: float = 10
    more: tuple[str, ...] = ()


def arguments(model: Path, port: int, options: ServerOptions, known: frozenset[str]) -> list[str]:
    """The command line after the program. `known` are the options of this build.

    Besides what the job needs, only what makes it faster for it: slots keep their own prompts, so
    the second prompt cache in RAM would be copying for nothing; the cache is not shared between
    slots, as idle ones would be cleared then.
    """
    given = [
        *("-m", str(model), "--host", HOST, "--port", str(port)),
        *("-np", str(options.n_slots), "-c", str(options.n_slots * options.slot_tokens)),
        *("-t", str(options.threads), "-tb", str(options.threads)),
        *("-ctk", options.kv_type, "-ctv", options.kv_type),
    ]
    optional: tuple[tuple[str, ...], ...] = (
        ("--no-ui",) if "--no-ui" in known else ("--no-webui",),
        ("--offline",),
        ("--jinja",),
        ("--no-kv-unified",),
        ("--cache-ram", "0"),
        *([("--device", "none")] if options.cpu_only else []),
    )
    if FLASH_ATTENTION in known and not options.flash_attention:
        given += ["--flash-attn", "off"]
    given += [word for option in optional if option[0] in known for word in option]
    return [*given, *options.more]


class ServerProcess:
    """A running llama-server; a context manager, so that it never outlives its use.

    `start` (or entering) raises `EngineFailed`, with the end of the log, if it dies or is not
    healthy in time; it is gone then.
    """

    def __init__(self, program: Path, model: Path, options: ServerOptions) -> None:
        self.program = program
        self.options = options
        self._model = model
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it answers."""
        return self._url

    @property
    def pid(self) -> int | None:
        """Its process, while there is one."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """What it has printed so far."""
        if self._folder is None:
            return ""
        return self._log_path.read_text(errors="replace") if self._log_path.exists() else ""

    def start(self) -> None:
        """Start it and wait until it is healthy."""
        known = options_of(self.program)
        port = _free_port()
        self._url = f"http://{HOST}:{port}"
        self._folder = tempfile.TemporaryDirectory(prefix="vedette-llama-server-")
        command = [str(self.program), *arguments(self._model, port, self.options, known)]
        try:
            self._launch(_guarded(command))
            self._wait_until_healthy()
        except OSError as error:
            self.stop()
            raise EngineFailed(f"{self.program} cannot be run: {error.strerror}") from error
        except BaseException:
            self.stop()
            raise

    def _launch(self, command: list[str]) -> None:
        """Run it from a thread that lives as long as it does: see `_guarded`."""
        launched = threading.Event()
        failures: list[OSError] = []

        def run() -> None:
            try:
                # A session of its own: Ctrl-C is for us, and `stop` reaches its children too.
                with self._log_path.open("wb") as log:
                    self._process = process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=program_environment(self.program),
                        start_new_session=True,
                    )
            except OSError as error:
                failures.append(error)
                launched.set()
                return
            launched.set()
            process.wait()

        with interrupts_held_back():
            threading.Thread(target=run, name="vedette-llama-server", daemon=True).start()
            launched.wait()
        if failures:
            raise failures[0]

    def why_ended(self) -> EngineFailed | None:
        """Why it is gone, if it is. What drops its connections is gone shortly after."""
        ended = self._ended_within(END_TIMEOUT_S)
        return None if ended is None else self._died(ended, "while it was answering")

    def _ended_within(self, timeout_s: float) -> int | None:
        """Its exit code. A process that dies drops its connections shortly before it is gone."""
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """End it: asked first, then killed. Nothing of it is left; safe to call again."""
        process, self._process = self._process, None
        if process is not None:
            try:
                _signal(process, signal.SIGTERM)
                process.wait(self.options.stop_timeout_s)
            except subprocess.TimeoutExpired:
                pass
            finally:
                # The whole session, even if its first process went: wrappers have children.
                _signal(process, signal.SIGKILL)
                process.wait()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def _log_path(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "log.txt"

    def _wait_until_healthy(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self.options.start_timeout_s
        with httpx2.Client(base_url=self._url, timeout=5, trust_env=False) as client:
            while True:
                ended = self._process.poll()
                if ended is not None:
                    raise self._died(ended, "before it was ready")
                if _is_healthy(client):
                    return
                if time.monotonic() > deadline:
                    raise EngineFailed(
                        f"{self.program} was not ready within "
                        f"{self.options.start_timeout_s:g} s; its log ends: {self._tail()}"
                    )
                time.sleep(HEALTH_EVERY_S)

    def _died(self, code: int, when: str) -> EngineFailed:
        reason, hint = how_it_ended(code)
        return EngineFailed(
            f"{self.program} {reason} {when}; its log ends: {self._tail()}", hint=hint
        )

    def _tail(self) -> str:
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        return " | ".join(lines[-LOG_TAIL_LINES:]) or "(empty)"


def _guarded(command: list[str]) -> list[str]:
    """The command under `setpriv`, where there is one, so that even `kill -9` of us ends it.

    The system sends the signal when the thread that started the program ends.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *command] if setpriv else command


def _is_healthy(client: httpx2.Client) -> bool:
    try:
        return client.get("/health").status_code == httpx2.codes.OK
    except httpx2.TransportError:  # not listening yet; a dead one is noticed by its process
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # gone already, which is what is wanted
        os.killpg(process.pid, number)
