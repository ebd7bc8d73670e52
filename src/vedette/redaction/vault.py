"""The vault: a file with the replaced values, readable with its key only.

One JSON object: what is needed to open it (`kdf`, `salt`, `nonce`) and the encrypted rest. The key
comes from a passphrase by scrypt (RFC 7914); the values are under AES-256-GCM, which also notices
any change, of the header too. A new nonce is drawn each time it is written.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from vedette.errors import DiskFull, FileError, InputError

from .placeholders import Placeholders

FORMAT = "vedette-vault-1"
_SCRYPT_N, _SCRYPT_R, _SCRYPT_P = 1 << 15, 8, 1  # 32 MiB, about a tenth of a second
_MOST_N = 1 << 20  # a file may not ask for more than a GiB
_SALT_BYTES, _NONCE_BYTES = 16, 12


class Vault:
    """Placeholders kept in an encrypted file.

    Opening one that exists goes on with its placeholders; `save` writes it whole or not at all,
    readable by its owner only. While it is open no other run may write to it. Raises `InputError`
    for a wrong key or an empty one, `FileError` for a file that is damaged or not to be had.
    """

    def __init__(self, path: str | Path, passphrase: str, *, writing: bool = True) -> None:
        self.path = Path(path)
        if not passphrase:
            raise InputError("the key of the vault is empty", hint="set VEDETTE_VAULT_KEY")
        self._lock = _lock(self.path) if writing else None
        self._salt = os.urandom(_SALT_BYTES)
        self._saved = 0
        self.placeholders = Placeholders()
        try:
            if self.path.exists():
                self._read(passphrase)
            elif not writing:
                raise FileError(f"there is no vault {self.path}")
            else:
                self._key = _derive(passphrase, self._salt, _SCRYPT_N)
        except BaseException:
            self.close()
            raise

    def save(self) -> None:
        """Write what is new. Raises `FileError` or `DiskFull`; the old file then stands."""
        if len(self.placeholders) == self._saved and self.path.exists():
            return
        nonce = os.urandom(_NONCE_BYTES)
        header = {"format": FORMAT, "kdf": f"scrypt-{_SCRYPT_N}-{_SCRYPT_R}-{_SCRYPT_P}"}
        header |= {"salt": _text(self._salt), "nonce": _text(nonce)}
        content = json.dumps([*self.placeholders.entries()]).encode("ascii")  # with lone surrogates
        sealed = AESGCM(self._key).encrypt(nonce, content, orjson.dumps(header))
        _write(self.path, orjson.dumps({**header, "values": _text(sealed)}) + b"\n")
        self._saved = len(self.placeholders)

    def close(self) -> None:
        """Let others write to it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, passphrase: str) -> None:
        body = _parsed(self.path)
        header = {name: body[name] for name in ("format", "kdf", "salt", "nonce")}
        self._salt = _bytes(body["salt"], self.path)
        n = _cost(body["kdf"], self.path)
        self._key = _derive(passphrase, self._salt, n)
        sealed, nonce = _bytes(body["values"], self.path), _bytes(body["nonce"], self.path)
        if len(nonce) != _NONCE_BYTES:
            raise _damaged(self.path)
        try:
            content = AESGCM(self._key).decrypt(nonce, sealed, orjson.dumps(header))
        except InvalidTag as error:
            raise InputError(
                f"the vault {self.path} does not open: the key is wrong, or the file was changed",
                hint="give the key that it was written with",
            ) from error
        self.placeholders = Placeholders((a, b, c) for a, b, c in json.loads(content))
        self._saved = len(self.placeholders)


def _derive(passphrase: str, salt: bytes, n: int) -> bytes:
    kdf = Scrypt(salt=salt, length=32, n=n, r=_SCRYPT_R, p=_SCRYPT_P)
    return kdf.derive(passphrase.encode("utf-8", "surrogatepass"))


def _parsed(path: Path) -> dict[str, str]:
    try:
        body = orjson.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read the vault {path}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise _damaged(path) from error
    names = {"format", "kdf", "salt", "nonce", "values"}
    is_right = isinstance(body, dict) and body.keys() == names and body["format"] == FORMAT
    if not is_right or not all(isinstance(value, str) for value in body.values()):
        raise _damaged(path)
    return {str(name): str(value) for name, value in body.items()}


def _cost(kdf: str, path: Path) -> int:
    name, *numbers = kdf.split("-")
    if name != "scrypt" or numbers[1:] != [str(_SCRYPT_R), str(_SCRYPT_P)]:
        raise _damaged(path)
    n = int(numbers[0]) if numbers[0].isdigit() else 0
    if not 2 <= n <= _MOST_N or n & (n - 1):
        raise _damaged(path)
    return n


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str, path: Path) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> FileError:
    return FileError(f"{path} is damaged, or no vault", hint="take it from a backup")


def _lock(path: Path) -> int:
    """Hold a file beside the vault, as the vault itself is replaced when it is written."""
    beside = path.with_name(path.name + ".lock")
    try:
        fd = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FileError(f"cannot write beside the vault {path}: {error.strerror}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise FileError(f"the vault {path} is in use by another run", hint="wait for it") from error
    return fd


def _write(path: Path, data: bytes) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        kind = DiskFull if error.errno == errno.ENOSPC else FileError
        raise kind(f"cannot write the vault {path}: {error.strerror}") from error
