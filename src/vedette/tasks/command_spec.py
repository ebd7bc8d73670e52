"""What a program's command line may be: options, positionals, subcommands, as argparse has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from vedette.errors import InputError

TYPES = ("string", "integer", "number", "flag")
MOST_VALUES = 64  # of nargs * and +, and the most that nargs N may ask for

_FLAG = re.compile(r"-[A-Za-z0-9]|--?[A-Za-z0-9][A-Za-z0-9_.-]*")
_WORD = re.compile(r"[A-Za-z0-9_./+][A-Za-z0-9_./+-]*")
_NUMERIC_FLAG = re.compile(r"-\d+|-\d*\.\d+")
_COMMAND_KEYS = ("prog", "name", "help", "options", "positionals", "subcommands")
_OPTION_KEYS = ("flags", "type", "choices", "nargs", "required", "help")
_POSITIONAL_KEYS = ("name", "type", "choices", "nargs", "help")


@dataclass(frozen=True, slots=True)
class Count:
    """From `least` to `most` values."""

    least: int
    most: int

    @property
    def is_fixed(self) -> bool:
        """Whether a reader of the command line knows how many there are."""
        return self.least == self.most


@dataclass(frozen=True, slots=True)
class Argument:
    """Values of one type: those of an option, or a positional.

    `flags` are the option's spellings and empty for a positional. `choices` empty means any value
    of the type. A flag is an option with no values.
    """

    name: str
    type: str
    count: Count
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    required: bool = False
    help: str = ""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A program, or one of its subcommands (of which exactly one is given, if there are any)."""

    name: str
    help: str = ""
    options: tuple[Argument, ...] = ()
    positionals: tuple[Argument, ...] = ()
    subcommands: tuple[CommandSpec, ...] = ()

    @property
    def takes_negative(self) -> bool:
        """Whether `-5` is a value, as argparse has it: not where options look like that."""
        return not any(_NUMERIC_FLAG.fullmatch(f) for option in self.options for f in option.flags)


def parse_spec(source: str, where: str) -> CommandSpec:
    """Read a specification from the JSON text of the file `where`. Raises as `spec_of` does."""
    try:
        body = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"{where} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    return spec_of(body)


def spec_of(body: object) -> CommandSpec:
    """Read `{"prog", "help", "options", "positionals", "subcommands"}`.

    Raises `InputError` with the place of what is wrong, and for what could not be told apart on a
    command line.
    """
    return _command(body, "prog", "the specification")


def _command(body: object, name_key: str, place: str) -> CommandSpec:
    entry = _object(body, _COMMAND_KEYS, place)
    name = entry.get(name_key)
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        raise InputError(f"{place}: {name_key!r} must be one word, not {name!r}")
    stray = "name" if name_key == "prog" else "prog"
    if stray in entry:
        raise InputError(f"{place}: the name is given as {name_key!r}, not {stray!r}")
    command = CommandSpec(
        name=name,
        help=_text(entry, place),
        options=tuple(_option(part, name) for part in _list(entry, "options", place)),
        positionals=tuple(_positional(part, name) for part in _list(entry, "positionals", place)),
        subcommands=tuple(
            _command(part, "name", f"a subcommand of {name}")
            for part in _list(entry, "subcommands", place)
        ),
    )
    _check_distinct(command)
    _check_readable(command)
    return command


def _check_distinct(command: CommandSpec) -> None:
    for what, names in (
        ("option", [flag for option in command.options for flag in option.flags]),
        ("positional", [part.name for part in command.positionals]),
        ("subcommand", [part.name for part in command.subcommands]),
    ):
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise InputError(f"{command.name} has the {what} {twice} twice")


def _check_readable(command: CommandSpec) -> None:
    """What takes an open number of values would swallow what comes after it."""
    if not command.subcommands:
        return
    arguments = (*command.options, *command.positionals)
    loose = next((part for part in arguments if not part.count.is_fixed), None)
    if loose is not None:
        raise InputError(
            f"{command.name} has subcommands, so {loose.name} must say how many values it takes",
            hint="give it a number as nargs, or move it into the subcommands",
        )


def _option(body: object, command: str) -> Argument:
    entry = _object(body, _OPTION_KEYS, f"an option of {command}")
    flags = entry.get("flags")
    if not isinstance(flags, list) or not flags:
        raise InputError(
            f"an option of {command} has no flags", hint='write "flags": ["-o", "--output"]'
        )
    wrong = next((f for f in flags if not isinstance(f, str) or not _FLAG.fullmatch(f)), None)
    if wrong is not None:
        raise InputError(f"{wrong!r} is no option of {command}: write -o or --output")
    place = f"{command} {flags[-1]}"
    required = entry.get("required", False)
    if not isinstance(required, bool):
        raise InputError(f"{place}: required must be true or false, not {required!r}")
    kind = _type(entry, place)
    if kind == "flag":
        stray = next((key for key in ("choices", "nargs") if key in entry), None)
        if stray is not None:
            raise InputError(f"{place}: a flag takes no value, so {stray!r} has no meaning")
    return Argument(
        name=flags[-1],
        type=kind,
        count=Count(0, 0) if kind == "flag" else _count(entry, place),
        flags=tuple(flags),
        choices=_choices(entry, kind, place),
        required=required,
        help=_text(entry, place),
    )


def _positional(body: object, command: str) -> Argument:
    entry = _object(body, _POSITIONAL_KEYS, f"a positional of {command}")
    name = entry.get("name")
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        raise InputError(f"a positional of {command} has the name {name!r}; it must be one word")
    place = f"{command} {name}"
    kind = _type(entry, place)
    if kind == "flag":
        raise InputError(f"{place}: a positional cannot be a flag")
    return Argument(
        name=name,
        type=kind,
        count=_count(entry, place),
        choices=_choices(entry, kind, place),
        help=_text(entry, place),
    )


def _type(entry: Mapping[str, Any], place: str) -> str:
    kind = entry.get("type", "string")
    if kind not in TYPES:
        raise InputError(f"{place}: the type {kind!r} is none of {', '.join(TYPES)}")
    return str(kind)


def _count(entry: Mapping[str, Any], place: str) -> Count:
    nargs = entry.get("nargs")
    open_ends = {"?": Count(0, 1), "*": Count(0, MOST_VALUES), "+": Count(1, MOST_VALUES)}
    if nargs is None:
        return Count(1, 1)
    if isinstance(nargs, str) and nargs in open_ends:
        return open_ends[nargs]
    if isinstance(nargs, bool) or not isinstance(nargs, int) or not 1 <= nargs <= MOST_VALUES:
        raise InputError(
            f"{place}: nargs is {nargs!r}; it must be ?, *, + or from 1 to {MOST_VALUES}"
        )
    return Count(nargs, nargs)


def _choices(entry: Mapping[str, Any], kind: str, place: str) -> tuple[str, ...]:
    given = entry.get("choices", [])
    types: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,)}
    allowed = types.get(kind, (int, float))
    if not isinstance(given, list) or ("choices" in entry and not given):
        raise InputError(f"{place}: choices must be a list of values, not {given!r}")
    for value in given:
        if isinstance(value, bool) or not isinstance(value, allowed):
            raise InputError(f"{place}: the choice {value!r} is no {kind}")
        if str(value).startswith("-") or not str(value).isprintable():
            raise InputError(f"{place}: the choice {value!r} cannot be written as a value")
    texts = tuple(map(str, given))
    twice = next((text for i, text in enumerate(texts) if text in texts[:i]), None)
    if twice is not None:
        raise InputError(f"{place} has the choice {twice!r} twice")
    return texts


def _text(entry: Mapping[str, Any], place: str) -> str:
    text = entry.get("help", "")
    if not isinstance(text, str):
        raise InputError(f"{place}: help must be a text, not {text!r}")
    return " ".join(text.split())


def _list(entry: Mapping[str, Any], key: str, place: str) -> Iterator[object]:
    parts = entry.get(key, [])
    if not isinstance(parts, list):
        raise InputError(f"{place}: {key} must be a list, not {parts!r}")
    yield from parts


def _object(body: object, known: tuple[str, ...], place: str) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise InputError(f"{place} must be an object, not {body!r}")
    unknown = next((key for key in body if key not in known), None)
    if unknown is not None:
        raise InputError(
            f"{place} has the unknown key {unknown!r}", hint=f"known are {', '.join(known)}"
        )
    return body
