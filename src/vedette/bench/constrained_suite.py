"""The schemas of the scorecard: built in, or a folder of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from vedette.errors import FileError, InputError
from vedette.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A value, and whether it is valid under its schema."""

    value: Json
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCase:
    """A schema, values to hold against it, and prompts to answer under it."""

    name: str
    schema: Any
    instances: tuple[Instance, ...]
    prompts: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The schema as JSON text."""
        return orjson.dumps(self.schema).decode()


def built_in() -> tuple[SchemaCase, ...]:
    """The schemas that come with vedette, with prompts for each."""
    text = files("vedette.bench").joinpath("constrained_schemas.json").read_bytes()
    return _cases(text, "the built-in schemas")


def read_folder(folder: Path) -> tuple[SchemaCase, ...]:
    """The `.json` files of a folder, in the layout of JSON-Schema-Test-Suite.

    Each is a list of groups: `description`, `schema`, `tests` (`data`, `valid`), and, only here,
    `prompts` to be answered. Raises `FileError` for a file that is not so, or if there is none.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder", hint="give the folder of the .json files")
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise FileError(f"there are no .json files in {folder}")
    found = (_cases(_bytes(path), str(path), path.stem) for path in paths)
    return tuple(case for cases in found for case in cases)


def first(cases: tuple[SchemaCase, ...], limit: int | None) -> tuple[SchemaCase, ...]:
    """The first `limit` of them. Raises `InputError` for a limit that leaves nothing."""
    if limit is None:
        return cases
    if limit < 1:
        raise InputError(f"--limit is {limit}; it must be at least 1")
    return cases[:limit]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def _cases(text: bytes, where: str, stem: str = "") -> tuple[SchemaCase, ...]:
    try:
        groups = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise FileError(f"{where}: not JSON: {error.msg} (line {error.lineno})") from error
    if not isinstance(groups, list):
        raise FileError(f"{where}: a list of groups is expected")
    return tuple(
        _case(group, f"{where}, group {i}", f"{stem} {i}: " if stem else "")
        for i, group in enumerate(groups, 1)
    )


def _case(group: Any, where: str, prefix: str) -> SchemaCase:
    try:
        instances = tuple(
            Instance(value=test["data"], valid=bool(test["valid"])) for test in group["tests"]
        )
        return SchemaCase(
            name=prefix + group["description"],
            schema=group["schema"],
            instances=instances,
            prompts=tuple(str(prompt) for prompt in group.get("prompts", ())),
        )
    except (KeyError, TypeError) as error:
        raise FileError(
            f"{where}: it needs description, schema and tests, each with data and valid"
        ) from error
