"""What can be set for speculation, whatever a build calls it: `settings.toml` as values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from .flag_table import canonical

_STRICT = ConfigDict(extra="forbid")


@checked(frozen=True, config=_STRICT)
class Setting:
    """One setting; the file says what each field means."""

    key: str
    what: str
    names: tuple[str, ...]
    env: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    by_type: Mapping[str, str] = field(default_factory=dict)
    n_values: int = 1
    kind: Literal["int", "float", "layers", "text"] = "text"
    least: float = 0
    most: float = 0
    strict: bool = False
    gone: str = ""
    default_before: str = ""
    default_since: str = ""

    @property
    def all_names(self) -> tuple[str, ...]:
        """Every name it was ever given."""
        return (*self.names, *self.by_type.values(), *self.wrong)


@checked(frozen=True, config=_STRICT)
class Gone:
    """A flag without speculation that is gone; `{}` in `instead` stands for its value."""

    names: tuple[str, ...]
    n_values: int
    why: str
    instead: tuple[str, ...] = ()


@checked(frozen=True, config=_STRICT)
class LoadMode:
    """The switches that became one choice, and its name."""

    names: tuple[str, ...]
    instead: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All of the file, and the ways to look into it."""

    settings: tuple[Setting, ...]
    gone: tuple[Gone, ...]
    load_mode: LoadMode
    types: Mapping[str, tuple[str, ...]]
    older_types: tuple[str, ...]
    never: Mapping[str, str]
    architectures: Mapping[str, str]

    def of_name(self, name: str) -> Setting | None:
        """The setting that has or had this name."""
        return _by_name().get(canonical(name))

    def of_variable(self, variable: str) -> Setting | None:
        """The setting that has or had this variable."""
        return _by_variable().get(variable)

    def of_key(self, key: str) -> Setting:
        """By its key in the file."""
        return next(each for each in self.settings if each.key == key)

    def gone_flag(self, name: str) -> Gone | None:
        """What is known of a flag without speculation that is gone."""
        return next((each for each in self.gone if canonical(name) in each.names), None)

    def present_type(self, name: str) -> str | None:
        """Today's name of a speculation type, or None if there is none like it."""
        if name in self.types:
            return name
        return self.never.get(name) or next(
            (now for now, before in self.types.items() if name in before), None
        )


@cache
def known() -> Settings:
    """The file, read and checked once."""
    content = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
    texts = TypeAdapter(dict[str, str])
    return Settings(
        settings=TypeAdapter(tuple[Setting, ...]).validate_python(content["setting"]),
        gone=TypeAdapter(tuple[Gone, ...]).validate_python(content["gone"]),
        load_mode=TypeAdapter(LoadMode).validate_python(content["load_mode"]),
        types=TypeAdapter(dict[str, tuple[str, ...]]).validate_python(content["types"]),
        older_types=TypeAdapter(tuple[str, ...]).validate_python(content["older_types"]),
        never=texts.validate_python(content["never"]),
        architectures=texts.validate_python(content["architectures"]),
    )


@cache
def _by_name() -> dict[str, Setting]:
    return {name: each for each in known().settings for name in each.all_names}


@cache
def _by_variable() -> dict[str, Setting]:
    return {name: each for each in known().settings for name in each.env}
