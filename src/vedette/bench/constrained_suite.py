"""The schemas of the scorecard: built in, or a folder of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import orjson

from vedette.errors import FileError, InputError
from vedette.types import Constraint, Json, SchemaOptions

Draft = Literal["4", "6", "7", "2019-09", "2020-12"]
DRAFTS: dict[Draft, str] = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A value, and whether it is valid under its schema."""

    value: Json
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCase:
    """A schema, values to hold against it, and prompts to answer under it.

    `formats` says whether `format` asserts anything.
    """

    name: str
    schema: Any
    instances: tuple[Instance, ...]
    prompts: tuple[str, ...] = ()
    formats: bool = True

    @property
    def source(self) -> str:
        """The schema as the JSON text of an object, which `true` and `false` are none of."""
        if isinstance(self.schema, bool):
            return "{}" if self.schema else '{"not":{}}'
        return orjson.dumps(self.schema).decode()

    @property
    def constraint(self) -> Constraint:
        """The schema for an engine."""
        options = SchemaOptions(formats=self.formats)
        return Constraint("json_schema", self.source, options=options)


def built_in() -> tuple[SchemaCase, ...]:
    """The schemas that come with vedette, with prompts for each."""
    text = files("vedette.bench").joinpath("constrained_schemas.json").read_bytes()
    return _cases(text, "the built-in schemas")


def read_folder(
    folder: Path, *, draft: Draft | None = None, formats: bool = True
) -> tuple[SchemaCase, ...]:
    """The `.json` files of a folder, in the layout of JSON-Schema-Test-Suite.

    Each is a list of groups: `description`, `schema`, `tests` (`data`, `valid`), and, only here,
    `prompts` to be answered. Schemas that name no draft are of the given one. Raises `FileError`
    for a file that is not so, or if there is none.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder", hint="give the folder of the .json files")
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise FileError(f"there are no .json files in {folder}")
    found = (_cases(_bytes(path), str(path), path.stem) for path in paths)
    cases = tuple(case for cases in found for case in cases)
    return tuple(replace(c, schema=_dated(c.schema, draft), formats=formats) for c in cases)


def _dated(schema: Any, draft: Draft | None) -> Any:
    if draft is None or not isinstance(schema, dict):
        return schema
    return {"$schema": DRAFTS[draft], **schema}


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
