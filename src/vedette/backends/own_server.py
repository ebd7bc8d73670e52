"""A llama-server that begins and ends with its backend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vedette.models.context_limit import recall
from vedette.types import Capabilities, Json

from .llama_server import LlamaServerBackend
from .server_process import ServerOptions, ServerProcess


class OwnServerBackend(LlamaServerBackend):
    """Implements `Backend` on a llama-server of our own, with a slot for each of `width` requests.

    Raises `EngineFailed`, with the end of the server's log, if it cannot be started.
    """

    def __init__(
        self,
        program: Path,
        model: Path,
        options: ServerOptions,
        *,
        sha256: str,
        name: str,
        timeout_s: float = 600,
    ) -> None:
        self._own_name = name
        limit = recall(sha256)
        self._useful_tokens = limit.limit_tokens if limit else None
        self.process = ServerProcess(program, model, options)
        self.process.start()
        identity: dict[str, Json] = {
            "server": "llama-server",
            "model_sha256": sha256,
            "kv_type": options.kv_type,
        }
        try:
            super().__init__(
                self.process.url,
                width=options.n_slots,
                timeout_s=timeout_s,
                identity=identity,
                why_gone=self.process.why_ended,
            )
        except BaseException:
            self.process.stop()
            raise

    @property
    def capabilities(self) -> Capabilities:
        """What the server says, and how much of its context was found to be of use."""
        return replace(super().capabilities, useful_tokens=self._useful_tokens)

    @property
    def name(self) -> str:
        """The model as it was asked for."""
        return self._own_name

    def close(self) -> None:
        """Cancel what is under way, and end the server."""
        try:
            super().close()
        finally:
            self.process.stop()
