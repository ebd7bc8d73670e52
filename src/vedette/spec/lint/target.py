"""The build that a command is held against."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Literal, TypeAlias

from vedette.backends.server_program import answer_of
from vedette.errors import EngineFailed, InputError

from .bundled import bundled_table
from .flag_table import FlagTable
from .help_text import parse_help
from .settings import Setting
from .words import Command

BuildRange: TypeAlias = Literal["old", "between", "new"]
Flavour: TypeAlias = Literal["llama.cpp", "ik_llama.cpp"]
PROGRAM_NAMES = ("llama-server", "llama-server.exe")
_IK = re.compile(r"ik[_-]llama", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """Its flags, and what follows from them."""

    table: FlagTable
    note: str = ""

    @property
    def types(self) -> tuple[str, ...]:
        """The values of --spec-type, if the build says them."""
        flag = self.table.live("--spec-type")
        return flag.choices if flag else ()

    @property
    def lists_types(self) -> bool:
        """Whether --spec-type takes several."""
        flag = self.table.live("--spec-type")
        return flag is not None and (flag.listed or not flag.choices)

    @property
    def draft_needs_type(self) -> bool:
        """Whether a draft model is ignored unless --spec-type asks for it."""
        return "draft-simple" in self.types

    @property
    def has_mtp_switch(self) -> bool:
        """Whether MTP is a switch of its own, as in ik_llama.cpp."""
        return self.table.live("-mtp") is not None

    def default_of(self, setting: Setting) -> str | None:
        """What holds when a setting is not given, if the build says."""
        name = self.table.first_live(setting.names)
        flag = self.table.live(name) if name else None
        return flag.default if flag else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the caller says of the build. A help text goes before all, then range and flavour.

    `run_program`: ask the program that a command names for its `--help`, if it is there.
    """

    help_text: str | None = None
    help_title: str = "the help text"
    build: BuildRange | None = None
    flavour: Flavour | None = None
    run_program: bool = True


def target_of(command: Command, wish: Wish) -> Target:
    """The build for one command. Raises `InputError` for a help text that is none."""
    if wish.help_text is not None:
        return Target(_parsed(wish.help_text, wish.help_title))
    if wish.build and wish.flavour == "ik_llama.cpp":
        raise InputError(
            "--build names a range of llama.cpp, --flavour another program", hint="give one of them"
        )
    if wish.build:
        return Target(bundled_table(wish.build))
    if wish.flavour:
        return Target(bundled_table("ik" if wish.flavour == "ik_llama.cpp" else "new"))
    note = ""
    program = _program(command) if wish.run_program else None
    if program is not None:
        found = _asked(program)
        if isinstance(found, FlagTable):
            return Target(found)
        note = found
    named = command.program.value if command.program else ""
    return Target(bundled_table("ik" if _IK.search(f"{named} {command.title}") else "new"), note)


def _program(command: Command) -> str | None:
    """The llama-server that the command would start, if it is on this machine."""
    word = command.program
    if word is None or word.dynamic or PurePath(word.value).name not in PROGRAM_NAMES:
        return None
    path = os.path.expanduser(word.value)
    found = shutil.which(path)
    return os.path.realpath(found) if found else None


@cache
def _parsed(text: str, title: str) -> FlagTable:
    return parse_help(text, title=title)


@cache
def _asked(program: str) -> FlagTable | str:
    """Its flags, or why they are not known."""
    try:
        return parse_help(answer_of(Path(program), "--help"), title=f"{program} --help")
    except (EngineFailed, InputError) as error:
        return error.message


def near_flag(name: str, tables: Sequence[FlagTable]) -> str | None:
    """The first close name in any of the tables."""
    return next((near for table in tables if (near := table.near(name))), None)
