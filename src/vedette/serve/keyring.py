"""The keys that a running server knows, as their file is at the moment."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from vedette.errors import VedetteError

from .keys import OWN_NAME, Key, KeyFile, digest_of
from .rate import Bucket
from .scopes import SCOPES

Signature: TypeAlias = tuple[int, int, int]

_log = logging.getLogger(__name__)


class Keyring:
    """The key of the environment, which opens everything, and those of the file.

    A change of the file counts from the next `refresh` on. A file that cannot be read any more
    changes nothing, and the log says so; one that is gone takes all its keys along. `is_locked`
    says whether a key is needed: once there was one, for as long as the server runs. Raises
    `FileError` for a file that cannot be read at the start.
    """

    def __init__(self, api_key: str, path: Path | None) -> None:
        own = Key(name=OWN_NAME, sha256=digest_of(api_key), scopes=frozenset(SCOPES))
        self._own = {own.sha256: own} if api_key else {}
        self._file = KeyFile(path) if path else None
        self._signature = self._look()
        self._known: Mapping[str, Key] = self._own
        self._buckets: dict[Key, Bucket] = {}
        self.is_locked = bool(api_key)
        if self._file is not None and self._signature is not None:
            self._take(self._file.read())

    def refresh(self) -> None:
        """Look whether the file has changed, which takes some microseconds."""
        signature = self._look()
        if signature == self._signature or self._file is None:
            return
        self._signature = signature
        try:
            self._take(self._file.read())
        except VedetteError as error:
            self.is_locked = True
            _log.error("the API keys stay as they were: %s", error)

    def find(self, shown: str) -> Key | None:
        """The key that was shown, if it is one.

        Looked up by its hash: how long that takes tells at most how a hash begins, and from a
        hash no key can be found.
        """
        return self._known.get(digest_of(shown))

    def wait_s(self, key: Key) -> float:
        """0, and the request counts against the key's rate; or the seconds that it has to wait."""
        if key.rate is None:
            return 0.0
        return self._buckets.setdefault(key, Bucket(key.rate)).take()

    def _look(self) -> Signature | None:
        """What tells one state of the file from another; None where there is none."""
        if self._file is None:
            return None
        try:
            found = self._file.path.stat()
        except OSError:  # reading it will tell why
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _take(self, keys: tuple[Key, ...]) -> None:
        self._known = {key.sha256: key for key in keys} | self._own
        self._buckets = {key: self._buckets[key] for key in keys if key in self._buckets}
        self.is_locked = True
