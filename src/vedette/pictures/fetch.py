"""Pictures from http(s) URLs, for those who ask for it: with limits, and not from this network."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from vedette.errors import PictureError

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 20.0
MOST_REDIRECTS = 3


def is_url(place: str) -> bool:
    """Whether it is an http(s) URL."""
    return place[:8].lower().startswith(("http://", "https://"))


class Fetch:
    """Fetches what a URL names.

    Addresses that are not public are refused, at each redirect too: a row must not be able to ask
    the services of this machine and its network. (A name that points elsewhere a moment later is
    not caught by that.) `transport` stands in for the network.
    """

    def __init__(self, transport: httpx2.BaseTransport | None = None) -> None:
        self._transport = transport

    def bytes_of(self, url: str, max_bytes: int) -> bytes:
        """The body. Raises `PictureError`: no answer, another status than 200, or too long."""
        import httpx2

        with httpx2.Client(transport=self._transport, timeout=TIMEOUT_S, trust_env=False) as client:
            for _ in range(MOST_REDIRECTS + 1):
                _check_public(url)
                try:
                    with client.stream("GET", url) as response:
                        if not response.is_redirect:
                            return _body(response, url, max_bytes)
                        url = urljoin(url, response.headers.get("location", ""))
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    reason = str(error) or type(error).__name__
                    raise PictureError(f"{url} could not be fetched: {reason}") from error
                if not is_url(url):
                    raise PictureError(f"a redirect leads to {url}, which is no http(s) URL")
        raise PictureError(f"{url} is redirected more than {MOST_REDIRECTS} times")


def _body(response: httpx2.Response, url: str, max_bytes: int) -> bytes:
    if response.status_code != 200:
        raise PictureError(f"{url} could not be fetched: HTTP status {response.status_code}")
    found = bytearray()
    for part in response.iter_bytes():
        found += part
        if len(found) > max_bytes:
            raise PictureError(f"{url} has more than {max_bytes:,} bytes", hint="make it smaller")
    return bytes(found)


def _check_public(url: str) -> None:
    try:
        host, port = urlsplit(url).hostname or "", urlsplit(url).port
        found = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, ValueError, UnicodeError) as error:
        raise PictureError(f"{url} has no host that can be found: {error}") from error
    for entry in found:
        if not ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_global:
            raise PictureError(
                f"{url} is at an address that is not public ({entry[4][0]})",
                hint="download it first",
            )
