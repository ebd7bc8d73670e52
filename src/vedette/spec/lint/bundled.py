"""The flag tables that come with vedette: for a build whose own `--help` cannot be asked."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from .flag_table import Flag, FlagTable, flag_of_head

# Ranges of builds of llama.cpp, and the fork that kept the grammar of `old`.
TableName: TypeAlias = Literal["old", "between", "new", "ik"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class _File:
    title: str
    complete: bool
    flags: tuple[str, ...]
    stubs: tuple[str, ...] = ()
    base: TableName | None = None
    without: tuple[str, ...] = ()
    without_prefix: tuple[str, ...] = ()


@cache
def bundled_table(name: TableName) -> FlagTable:
    """The table of a range of builds, checked as it is read."""
    file = _read(name)
    flags = [_flag(line) for line in file.flags]
    flags += [replace(_flag(line), stub=True) for line in file.stubs]
    if file.base:
        inherited = bundled_table(file.base).flags
        own = {each for flag in flags for each in flag.names}
        flags = [flag for flag in inherited if not _is_out(flag, file, own)] + flags
    return FlagTable(flags, title=file.title, complete=file.complete)


def is_new_name(name: str) -> bool:
    """Whether a flag came with the grammar of 2026-04-26 or later."""
    return bundled_table("new").live(name) is not None and bundled_table("old").find(name) is None


def _read(name: TableName) -> _File:
    path = Path(__file__).with_name("tables") / f"{name}.toml"
    return TypeAdapter(_File).validate_python(tomllib.loads(path.read_text(encoding="utf-8")))


def _is_out(flag: Flag, file: _File, own: set[str]) -> bool:
    return any(
        name in file.without or name in own or name.startswith(file.without_prefix)
        for name in flag.names
    )


def _flag(line: str) -> Flag:
    head, _, tail = line.partition("  ")
    env = re.search(r"\(env: (\w+)\)", tail)
    default = re.search(r"\(default: (\S+)\)", tail)
    flag = flag_of_head(head, env[1] if env else None, default=default[1] if default else None)
    if flag is None:
        raise ValueError(f"{line!r} is no flag")
    return flag
