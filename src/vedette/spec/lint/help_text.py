"""What a llama-server's `--help` says, as a table of flags."""

from __future__ import annotations

import re

from vedette.errors import InputError

from .flag_table import Flag, FlagTable, flag_of_head

_HEAD = re.compile(r"\s{0,2}-{1,2}[A-Za-z]")
_ABOUT_COLUMN = 40  # where llama.cpp begins the second column
_FEW_FLAGS = 20


def parse_help(text: str, *, title: str) -> FlagTable:
    """Read it. Raises `InputError` if it does not look like the help of a llama-server."""
    flags = [flag for head, about in _entries(text) if (flag := _flag(head, about)) is not None]
    known = {name for flag in flags for name in flag.names}
    if len(flags) < _FEW_FLAGS or not {"-m", "--model"} & known:
        raise InputError(
            f"{title} is not the help of a llama-server",
            hint="save it with: llama-server --help > help.txt",
        )
    return FlagTable(flags, title=title, complete=True)


def _entries(text: str) -> list[tuple[str, str]]:
    """Head and description of each flag."""
    entries: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if _HEAD.match(line):
            head, about = _divided(line)
            entries.append((head, [about]))
        elif entries and line.startswith("     "):
            entries[-1][1].append(line.strip())
    return [(head, " ".join(about)) for head, about in entries]


def _divided(line: str) -> tuple[str, str]:
    tidy = re.sub(r",\s+(?=-)", lambda match: "," + " " * (len(match[0]) - 1), line)
    left, right = tidy[:_ABOUT_COLUMN], tidy[_ABOUT_COLUMN:]
    if right and left.endswith(" ") and not right.startswith(" "):
        return left.strip(), right.strip()
    # A long head fills the line; in old builds the columns lie elsewhere, two blanks apart.
    parts = re.split(r"(?<![,\s])\s{2,}", tidy.strip(), maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def _flag(head: str, about: str) -> Flag | None:
    env = re.search(r"\(env: (\w+)\)", about)
    default = re.search(r"\(default: ([^\s,)]+)", about)
    return flag_of_head(
        head, env[1] if env else None, default=default[1] if default else None, about=about
    )
