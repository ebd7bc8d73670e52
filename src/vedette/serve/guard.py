"""Who is let in: by the host that is named, the key that is shown, its scopes and its rate."""

from __future__ import annotations

import math
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from .keyring import Keyring
from .keys import Key
from .options import ServeOptions, is_loopback
from .problems import Refusal
from .scopes import is_open, scope_of


class Guard:
    """Raises what the constructor of `Keyring` does."""

    def __init__(self, options: ServeOptions) -> None:
        self._keys = Keyring(options.api_key, options.keys_file)

    def identify(self, path: str, headers: Headers) -> Key | None:
        """The key that was shown; None where none is needed.

        Raises `Refusal` for a request without one, or from a host that is not this machine.
        """
        self._keys.refresh()
        if not self._keys.is_locked:
            _check_host(headers)
            return None
        return None if is_open(path) else self._key_of(headers)

    def check(self, key: Key, path: str) -> None:
        """Raises `Refusal` for what the key does not open, or not so often."""
        _check_scope(key, path)
        wait_s = self._keys.wait_s(key)
        if wait_s:
            raise Refusal(
                f"the key {key.name} may be used {key.rate}, and was used as often",
                status=429,
                code="rate_limit_exceeded",
                retry_after_s=math.ceil(wait_s),
            )

    def check_scope(self, path: str, headers: Headers) -> None:
        """Raises `Refusal` if the key that was shown does not open the path."""
        if self._keys.is_locked:
            _check_scope(self._key_of(headers), path)

    def _key_of(self, headers: Headers) -> Key:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        shown = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        key = self._keys.find(shown)
        if key is None:
            raise Refusal(
                "the API key is wrong" if shown else "an API key is needed: Authorization: Bearer",
                status=401,
                code="invalid_api_key",
            )
        return key


def _check_scope(key: Key, path: str) -> None:
    needed = scope_of(path)
    if needed is not None and needed not in key.scopes:
        raise Refusal(
            f"the key {key.name} has no scope {needed}, which {path} needs",
            status=403,
            code="insufficient_scope",
        )


def _check_host(headers: Headers) -> None:
    """Without a key, a web page must not get here by a name of its own (DNS rebinding)."""
    host = headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:  # a bracket without its other
        name = ""
    if not is_loopback(name):
        raise Refusal(
            f"the host {host!r} is not this machine; a server without an API key is for this "
            "machine only",
            status=403,
            code="wrong_host",
        )
