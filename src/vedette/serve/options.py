"""How a server is set up, and where it may listen."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from vedette.backends.personas import Persona
from vedette.errors import InputError

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Settings of one server.

    `model` is the name under which the backend's model is listed and asked for (empty: the
    backend's own). `api_key` is what clients must show (empty: none). At most `max_requests`
    answers are under way or waiting at once, a body has at most `max_body_bytes`, an answer for
    which no `max_tokens` is asked has at most `max_tokens`, and is given `deadline_s`.
    """

    model: str = ""
    api_key: str = ""
    max_requests: int = 64
    max_body_bytes: int = 4 * MEBIBYTE
    max_tokens: int = 1024
    deadline_s: float | None = 600.0
    personas: tuple[Persona, ...] = ()
    adapters_dir: Path | None = None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, api_key: str) -> None:
    """Raises `InputError` for an address that others reach, without a key that they need."""
    if not is_loopback(host) and not api_key:
        raise InputError(
            f"{host} can be reached by other machines, and there is no API key",
            hint="set VEDETTE_SERVE_API_KEY or --api-key, or listen on 127.0.0.1",
        )
