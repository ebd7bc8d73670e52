"""Files from Hugging Face: which ones there are, and their bytes from any position on."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass

import httpx2
from huggingface_hub import HfApi, get_session, get_token, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.file_download import get_hf_file_metadata

from vedette.errors import ModelError, ModelNotFound
from vedette.models.names import HubName, is_shard, matches
from vedette.models.progress import Meter
from vedette.models.registry import HubFile, Model
from vedette.models.source import SourceFailed

_CONNECT_S = 5.0
_READ_S = 30.0
_BLOCK_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FAILURES = (httpx2.HTTPError, HfHubHTTPError, OfflineModeIsEnabled, HFValidationError)


def _reason(error: Exception) -> str:
    """Why Hugging Face did not deliver, in a few words."""
    match error:
        case OfflineModeIsEnabled():
            return "offline mode is on (HF_HUB_OFFLINE)"
        case GatedRepoError():
            return "the repository is gated: accept its terms and set HF_TOKEN"
        case RepositoryNotFoundError():
            return "no such repository, or a private one (set HF_TOKEN)"
        case EntryNotFoundError():
            return "no such file in the repository"
        case HfHubHTTPError():
            return f"it answered {error.response.status_code}"
        case httpx2.TimeoutException():
            return "it did not answer in time"
        case _:
            return f"it cannot be reached ({error})"


class HubSource:
    """One file of a repository, trusted by the hash that the caller has."""

    label = "Hugging Face"

    def __init__(self, file: HubFile, *, size_bytes: int, sha256: str) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._sha256 = sha256

    def workspace_bytes(self, start_bytes: int) -> int:
        """None: the bytes go straight into the file."""
        return 0

    def stream(self, start_bytes: int, meter: Meter) -> Generator[bytes, None, None]:
        """See `Source`."""
        url = hf_hub_url(self._file.repo, self._file.file, revision=self._file.revision)
        self._check(url)
        headers = {"Accept-Encoding": "identity"}
        if token := get_token():
            headers["Authorization"] = f"Bearer {token}"
        if start_bytes:
            headers["Range"] = f"bytes={start_bytes}-"
        timeout = httpx2.Timeout(_READ_S, connect=_CONNECT_S)
        try:
            with get_session().stream(
                "GET", url, headers=headers, timeout=timeout, follow_redirects=True
            ) as response:
                response.raise_for_status()
                # A server that ignores the range starts over with the whole file.
                skip_bytes = start_bytes if response.status_code == httpx2.codes.OK else 0
                for block in response.iter_bytes(_BLOCK_BYTES):
                    yield block[skip_bytes:]
                    skip_bytes = max(0, skip_bytes - len(block))
        except httpx2.HTTPStatusError as error:
            raise SourceFailed(f"it answered {error.response.status_code}") from error
        except httpx2.HTTPError as error:
            raise SourceFailed(_reason(error), resumable=True) from error

    def _check(self, url: str) -> None:
        """Ask once, briefly, whether the file is there and is the one that is wanted."""
        try:
            found = get_hf_file_metadata(url, timeout=_CONNECT_S)
        except _FAILURES as error:
            raise SourceFailed(_reason(error)) from error
        etag = found.etag or ""
        other_hash = _SHA256.fullmatch(etag) and etag != self._sha256
        if other_hash or (found.size is not None and found.size != self._size_bytes):
            raise SourceFailed(f"{self._file.repo} now holds another version of {self._file.file}")


@dataclass(frozen=True, slots=True)
class _Listed:
    file: str
    size_bytes: int
    sha256: str


def look_up(wanted: HubName) -> Model:
    """Ask Hugging Face which file a name means. Raises `ModelNotFound` in one sentence."""
    try:
        info = HfApi().model_info(wanted.repo, files_metadata=True, timeout=_CONNECT_S)
    except _FAILURES as error:
        raise ModelNotFound(
            f"Hugging Face did not deliver {wanted}: {_reason(error)}",
            hint="check the name and the network, or give the path of a GGUF file",
        ) from error
    files = [
        _Listed(sibling.rfilename, sibling.lfs.size, sibling.lfs.sha256)
        for sibling in info.siblings or []
        if sibling.lfs is not None and sibling.rfilename.lower().endswith(".gguf")
    ]
    chosen = _choose(wanted, files)
    licence = info.card_data.get("license") if info.card_data else None
    return Model(
        name=f"hf:{wanted.repo}/{chosen.file}",
        size_bytes=chosen.size_bytes,
        sha256=chosen.sha256,
        licence=str(licence or "not stated"),
        architecture="",
        chat_format="",
        sources=(HubFile(repo=wanted.repo, file=chosen.file, revision=info.sha or "main"),),
    )


def _choose(wanted: HubName, files: list[_Listed]) -> _Listed:
    fitting = [listed for listed in files if matches(wanted, listed.file)]
    if any(is_shard(listed.file) for listed in fitting):
        raise ModelError(
            f"{wanted} is split over {len(fitting)} files, which vedette does not join",
            hint="choose a quantisation that is one file",
        )
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(listed.file for listed in fitting or files) or "no GGUF file"
    problem = "means several files" if fitting else "is not in the repository"
    raise ModelNotFound(f"{wanted} {problem}", hint=f"it holds: {names}")
