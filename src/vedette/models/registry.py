"""The models that have a name: what they are, and where their bytes come from.

Data in `registry.toml`, validated here. Knows nothing about networks or folders.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, PositiveInt, StringConstraints, TypeAdapter, ValidationError

from vedette.errors import FileError

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1)]
Sha256: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a Hugging Face model repository."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    kind: Literal["hub"] = "hub"
    repo: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
    file: Text
    revision: Text = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of the file that lies as one member in a wheel; `size_bytes` is the member's."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    distribution: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
    member: Text
    size_bytes: PositiveInt


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Python packages that carry the file's bytes; the parts are joined in order."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    kind: Literal["packages"] = "packages"
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]


SourceSpec: TypeAlias = Annotated[HubFile | Packages, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A file of weights: how to recognise it and where to get it."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str = ""  # the table's key; filled in by the loader
    size_bytes: PositiveInt
    sha256: Sha256
    licence: Text
    architecture: Text
    chat_format: Text
    sources: Annotated[tuple[SourceSpec, ...], Field(min_length=1)]


_TABLE: TypeAdapter[dict[Name, Model]] = TypeAdapter(dict[Name, Model])
_BUNDLED = Path(__file__).with_name("registry.toml")


def load_registry(path: Path = _BUNDLED) -> Mapping[str, Model]:
    """Read and check a registry file. Raises `FileError` naming the entry that is wrong."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read the model registry {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"the model registry {path} is not TOML: {error}") from error
    try:
        entries = _TABLE.validate_python(
            {
                key: {**entry, "name": key} if isinstance(entry, dict) else entry
                for key, entry in table.items()
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise FileError(f"the model registry {path} is wrong at {where}: {first['msg']}") from error
    for model in entries.values():
        _check_parts(model, path)
    return entries


def _check_parts(model: Model, path: Path) -> None:
    for source in model.sources:
        if isinstance(source, Packages):
            total = sum(part.size_bytes for part in source.parts)
            if total != model.size_bytes:
                raise FileError(
                    f"the model registry {path} is wrong at {model.name}: its parts have "
                    f"{total} bytes, the file {model.size_bytes}"
                )


@cache
def registry() -> Mapping[str, Model]:
    """The registry that comes with vedette."""
    return load_registry()
