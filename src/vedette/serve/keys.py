"""API keys: names, scopes and rates in a file, of the keys themselves only hashes."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vedette.errors import FileError, InputError
from vedette.models.atomic import write_json
from vedette.models.home import locked, make_dir
from vedette.types import Json

from .rate import Rate
from .scopes import check_scopes

KEY_START = "vdt_"
"""By this a key that was published by mistake can be found."""
KEY_BYTES = 32
PRIVATE = 0o600
NAME_FORM = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
OWN_NAME = "serve"
"""How log lines call the key of `VEDETTE_SERVE_API_KEY`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is known of a key. `rate` None: it may ask as often as it likes."""

    name: str
    sha256: str
    scopes: frozenset[str]
    rate: Rate | None = None
    created: str = ""


def digest_of(key: str) -> str:
    """What is kept of a key.

    A fast hash without salt is right here: slow ones are for passwords, which can be guessed. Of
    the 256 random bits of a key nothing can, and every request would pay for the slowness.
    """
    return hashlib.sha256(key.encode()).hexdigest()


def has_keys(path: Path, api_key: str) -> bool:
    """Whether a server with this file and key of its own asks for keys.

    Raises `FileError` for a file that cannot be read, `InputError` for one that would let nobody
    in.
    """
    if not path.exists():
        return bool(api_key)
    if not KeyFile(path).read() and not api_key:
        raise InputError(
            f"{path} has no API key, so that nobody could be let in",
            hint="`vedette keys add NAME`; or delete the file, to serve this machine without keys",
        )
    return True


class KeyFile:
    """The file. Every method raises `FileError` where it cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[Key, ...]:
        """All keys, in the order in which they were added; none where there is no file.

        Raises `FileError` too where others may read the file, or it is not what `add` writes.
        """
        try:
            with self.path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise FileError(f"{self.path} cannot be read: {error.strerror}") from error
        if mode & 0o077:
            raise FileError(
                f"{self.path} is open to other users of this machine",
                hint=f"chmod 600 {self.path}",
            )
        return self._keys_in(text)

    def _keys_in(self, text: bytes) -> tuple[Key, ...]:
        try:
            content = _Content.model_validate_json(text)
            keys = tuple(entry.key() for entry in content.keys)
            if len({key.name for key in keys}) < len(keys):
                raise InputError("a name is there twice")
        except ValidationError as error:
            # Of a mistake its place and kind: what stands there may be a key, put in by hand.
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the file"
            raise FileError(
                f"{self.path} is no file of keys: {place}: {first['msg']}",
                hint="`vedette keys` writes it",
            ) from None
        except InputError as error:
            raise FileError(f"{self.path} is no file of keys: {error}") from error
        return keys

    def add(self, name: str, scopes: frozenset[str], rate: Rate | None) -> str:
        """Make a key and return it: it is told this once.

        Raises `InputError` for a name that is taken, or is none.
        """
        _check_name(name)
        key = KEY_START + secrets.token_urlsafe(KEY_BYTES)
        entry = Key(
            name=name,
            sha256=digest_of(key),
            scopes=scopes,
            rate=rate,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        with self._locked():
            keys = self.read()
            if any(name == one.name for one in keys):
                raise InputError(
                    f"there is a key {name!r} already",
                    hint=f"choose another name, or vedette keys remove {name}",
                )
            self._write((*keys, entry))
        return key

    def remove(self, name: str) -> None:
        """Forget a key. Raises `InputError` where there is none of this name."""
        with self._locked():
            keys = self.read()
            rest = tuple(key for key in keys if key.name != name)
            if len(rest) == len(keys):
                names = ", ".join(key.name for key in keys) or "none"
                raise InputError(f"there is no key {name!r}", hint=f"there are: {names}")
            self._write(rest)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Two that change the file at once do so one after the other."""
        make_dir(self.path.parent)
        with locked(self.path.with_name(f"{self.path.name}.lock"), on_wait=lambda: None):
            yield

    def _write(self, keys: tuple[Key, ...]) -> None:
        content: dict[str, Json] = {"version": 1, "keys": [_as_json(key) for key in keys]}
        try:
            write_json(self.path, content, mode=PRIVATE)
        except OSError as error:
            raise FileError(f"{self.path} cannot be written: {error.strerror}") from error


def _check_name(name: str) -> None:
    if not re.fullmatch(NAME_FORM, name):
        raise InputError(
            f"{name!r} is no name of a key",
            hint="up to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    if name == OWN_NAME:
        raise InputError(
            f"log lines call the key of VEDETTE_SERVE_API_KEY {OWN_NAME}", hint="choose another"
        )


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=rf"^{NAME_FORM}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    scopes: list[str]
    rate: str | None
    created: str

    def key(self) -> Key:
        """Raises `InputError`."""
        return Key(
            name=self.name,
            sha256=self.sha256,
            scopes=check_scopes(self.scopes),
            rate=Rate.of(self.rate) if self.rate else None,
            created=self.created,
        )


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    version: Literal[1]
    keys: list[_Entry]


def _as_json(key: Key) -> dict[str, Json]:
    return {
        "name": key.name,
        "sha256": key.sha256,
        "scopes": [*sorted(key.scopes)],
        "rate": str(key.rate) if key.rate else None,
        "created": key.created,
    }
