"""How a server is set up, and where it may listen."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from vedette.backends.personas import Persona
from vedette.errors import InputError

MEBIBYTE = 1024 * 1024
READ_S = 20.0
"""Seconds for the head of a request, and for its body, which gets more for what has come."""
SLOWEST_BYTES_PER_S = 1000
"""A body that comes more slowly than this is not waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Settings of one server.

    `model` is the name under which the backend's model is listed and asked for (empty: the
    backend's own). `api_key` is what clients must show (empty: none), `keys_file` has more keys,
    with scopes and rates. At most `max_requests` answers are under way or waiting at once, a body
    has at most `max_body_bytes` and must begin to come within `read_s`, an answer for which no
    `max_tokens` is asked has at most `max_tokens`, and is given `deadline_s`. With `red_lines`, a
    task whose words cross a red line is refused unless it is forced. With `fetch_pictures`
    pictures may come from http(s) URLs.
    """

    model: str = ""
    api_key: str = ""
    keys_file: Path | None = None
    max_requests: int = 64
    max_body_bytes: int = 4 * MEBIBYTE
    read_s: float = READ_S
    max_tokens: int = 1024
    deadline_s: float | None = 600.0
    personas: tuple[Persona, ...] = ()
    adapters_dir: Path | None = None
    red_lines: bool = True
    fetch_pictures: bool = False


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, has_key: bool) -> None:
    """Raises `InputError` for an address that others reach, without a key that they need."""
    if not is_loopback(host) and not has_key:
        raise InputError(
            f"{host} can be reached by other machines, and there is no API key",
            hint="make one by `vedette keys add NAME`, or listen on 127.0.0.1",
        )
