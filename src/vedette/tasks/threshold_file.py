"""A file of thresholds: JSON with a format of its own, written whole, hashed for identities."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from vedette.errors import FileError, InputError
from vedette.models.atomic import write_json
from vedette.types import Json

T = TypeVar("T")


def hash_of(content: Mapping[str, Json]) -> str:
    """What an answer that used this content depends on."""
    return hashlib.sha256(orjson.dumps(content)).hexdigest()


def write(path: str, content: Mapping[str, Json]) -> None:
    """Write the file, whole or not at all. Raises `FileError`."""
    try:
        write_json(Path(path), content)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def read(path: str, form: str, parse: Callable[[Any], T], hint: str) -> T:
    """What `parse` makes of a file whose `format` is `form`. Raises `FileError` for any other."""
    try:
        data = orjson.loads(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"cannot read the threshold file {path}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise FileError(f"the threshold file {path} is not JSON: {error.msg}") from error
    try:
        return of_content(data, form, parse, hint)
    except InputError as error:
        raise FileError(f"{path} is no threshold file: {error.message}", hint=hint) from error


def of_content(data: Any, form: str, parse: Callable[[Any], T], hint: str) -> T:
    """What `parse` makes of a file's content whose `format` is `form`.

    Raises `InputError`, of which the message is the reason, for any other.
    """
    try:
        if data["format"] != form:
            raise ValueError(f"its format is {data['format']!r}, not {form!r}")
        return parse(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(reason, hint=hint) from error
