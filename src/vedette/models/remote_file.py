"""A file on a web server, read piece by piece: enough for the header of a GGUF of any size."""

from __future__ import annotations

import io
import re

import httpx2
from huggingface_hub import get_session, get_token, hf_hub_url

from vedette.config import load
from vedette.errors import ModelNotFound
from vedette.models.gguf_header import Header, parse_header
from vedette.models.hub import look_up
from vedette.models.locate import registry_entry
from vedette.models.names import HubName, LocalFile, RegistryName, parse_name
from vedette.models.registry import HubFile

_PIECE_BYTES = 1 << 20
_TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
_TOTAL = re.compile(r"bytes \d+-\d+/(\d+)")


def is_url(name: str) -> bool:
    """Whether a name is an address on the web."""
    return name.startswith(("https://", "http://"))


def remote_header(name: str) -> Header:
    """The header of a GGUF that is not on this machine, by HTTP ranges: some megabytes of it.

    `name` is an `https://` address, `hf:user/repo:QUANT`, or a name of the registry that has a
    file on Hugging Face. Raises `ModelNotFound` if it cannot be had, or vedette is offline,
    `ModelCorrupt` if it is no sound GGUF.
    """
    if load().offline:
        raise ModelNotFound(
            f"{name} is not on this machine, and vedette is set to stay offline",
            hint="give the path of a file, or switch the setting `offline` off",
        )
    url = name if is_url(name) else _hub_url(name)
    # A token goes to Hugging Face only, never to another address.
    file = RangeFile(url, token=None if is_url(name) else get_token())
    with io.BufferedReader(file, _PIECE_BYTES) as buffered:
        return parse_header(name, buffered, file.size_bytes)


def _hub_url(name: str) -> str:
    wanted = parse_name(name)
    match wanted:
        case HubName():
            model = look_up(wanted)
        case RegistryName(entry):
            model = registry_entry(entry)
        case LocalFile(path):
            raise ModelNotFound(f"there is no file {path}")
    for source in model.sources:
        if isinstance(source, HubFile):
            return hf_hub_url(source.repo, source.file, revision=source.revision)
    raise ModelNotFound(
        f"the model {name} has no file on the web to look into", hint=f"`vedette pull {name}` first"
    )


class RangeFile(io.RawIOBase):
    """The bytes behind an address, fetched as they are read.

    Raises `ModelNotFound` when the server does not answer, or not with parts of the file.
    """

    def __init__(self, url: str, *, token: str | None = None) -> None:
        self._url = url
        self._token = token
        self._position = 0
        _, self.size_bytes = self._fetch(0, 1)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is fetched."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size_bytes}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        """Where the next byte comes from."""
        return self._position

    def readinto(self, buffer: object) -> int:
        """Fill the buffer with what follows; 0 at the end."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        n_bytes = min(len(view), self.size_bytes - self._position)
        if n_bytes <= 0:
            return 0
        data, _ = self._fetch(self._position, n_bytes)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _fetch(self, start: int, n_bytes: int) -> tuple[bytes, int]:
        headers = {
            "Range": f"bytes={start}-{start + n_bytes - 1}",
            "Accept-Encoding": "identity",
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            with get_session().stream(
                "GET", self._url, headers=headers, timeout=_TIMEOUT, follow_redirects=True
            ) as response:
                total = _TOTAL.fullmatch(response.headers.get("Content-Range", ""))
                if response.status_code != httpx2.codes.PARTIAL_CONTENT or total is None:
                    # Nothing is read here: it may be the whole file that comes.
                    raise ModelNotFound(
                        f"cannot look into {self._url}: {_refusal(response.status_code)}"
                    )
                return response.read()[:n_bytes], int(total[1])
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelNotFound(f"{self._url} cannot be reached ({error})") from error


def _refusal(status: int) -> str:
    if status in (httpx2.codes.OK, httpx2.codes.PARTIAL_CONTENT):
        return "the server sends whole files only"
    return f"the server answered {status}"
