"""A llama-server that begins and ends with its backend."""

from __future__ import annotations

from pathlib import Path

from vedette.types import Json

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
    def name(self) -> str:
        """The model as it was asked for."""
        return self._own_name

    def close(self) -> None:
        """Cancel what is under way, and end the server."""
        try:
            super().close()
        finally:
            self.process.stop()
