"""INI, TOML and env files: written by hand-made writers, read by the standard library.

INI is for `configparser.ConfigParser()` as it is (`%` is doubled, keys do not differ in case only),
TOML for `tomllib` (TOML 1.0), env for a POSIX shell and `shlex.split`.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, get_args

import orjson

from vedette.errors import ConstraintFailed, InputError
from vedette.types import Json

Format: TypeAlias = Literal["ini", "toml", "env"]
FORMATS: tuple[Format, ...] = get_args(Format)

Table: TypeAlias = Mapping[str, Json]

KEYS: dict[Format, re.Pattern[str]] = {
    "ini": re.compile(r"[A-Za-z0-9_.-]+"),
    "toml": re.compile(r"[A-Za-z0-9_-]+"),
    "env": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
}
# Texts that a format can hold: no control characters, and in INI no spaces at the ends either.
_INNER = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]"
_OUTER = r"[^\s\x00-\x1f\x7f-\x9f]"
TEXTS: dict[Format, str] = {
    "ini": f"^({_OUTER}({_INNER}*{_OUTER})?)?$",
    "env": f"^{_INNER}*$",
}


def write(values: Table, form: Format, section: str) -> str:
    """The text of a file with these values, one line for each, tables last.

    In INI, values that are in no table stand under `[section]`.
    """
    plain, tables = _parted(values)
    if form == "ini" and plain:
        plain, tables = {}, {section: plain, **tables}
    lines = _lines(plain, form)
    for name, table in tables.items():
        lines += [*([""] if lines else []), f"[{name}]", *_lines(table, form)]
    return "".join(f"{line}\n" for line in lines)


def _parted(values: Table) -> tuple[dict[str, Json], dict[str, dict[str, Json]]]:
    """What is in no table, and the tables."""
    plain: dict[str, Json] = {}
    tables: dict[str, dict[str, Json]] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            tables[key] = value
        else:
            plain[key] = value
    return plain, tables


def _lines(table: Table, form: Format) -> list[str]:
    equals = "=" if form == "env" else " = "
    return [f"{key}{equals}{_value(value, form)}".rstrip() for key, value in table.items()]


def _value(value: Json, form: Format) -> str:
    match form:
        case "toml":
            return _toml(value)
        case "ini":
            return text_of_scalar(value).replace("%", "%%")
        case "env":
            return shlex.quote(text_of_scalar(value))


def _toml(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # A JSON string is a TOML basic string, but for the one control character that JSON leaves be.
    return orjson.dumps(value).decode().replace("\x7f", "\\u007F")


def text_of_scalar(value: Json) -> str:
    """A value in a form that knows texts only: true, false, and numbers as JSON has them."""
    return value if isinstance(value, str) else json.dumps(value)


def check(text: str, values: Table, form: Format, section: str) -> None:
    """Read the text as the standard library does and hold it against the values.

    Raises `ConstraintFailed` unless it says exactly these.
    """
    try:
        read = _READERS[form](text)
    except (ValueError, configparser.Error) as error:  # TOML and shlex raise ValueErrors
        raise ConstraintFailed(f"the {form} text cannot be read: {error}") from error
    expected: dict[str, Json] = {key: value for key, value in values.items() if value != {}}
    found = {key: value for key, value in read.items() if value != {}}
    if form != "toml":
        expected = _as_texts(expected)
    if form == "ini":
        plain, tables = _parted(expected)
        expected = {**({section: plain} if plain else {}), **tables}
    if found != expected:
        raise ConstraintFailed(f"the values cannot be written as {form}: they would read otherwise")


def _as_texts(table: Table) -> dict[str, Json]:
    return {
        key: _as_texts(value) if isinstance(value, dict) else text_of_scalar(value)
        for key, value in table.items()
    }


def _read_ini(text: str) -> dict[str, Json]:
    parser = configparser.ConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def _read_env(text: str) -> dict[str, Json]:
    pairs = [word.partition("=") for word in shlex.split(text)]
    return {key: value for key, _, value in pairs}


_READERS: dict[Format, Callable[[str], dict[str, Json]]] = {
    "ini": _read_ini,
    "toml": tomllib.loads,
    "env": _read_env,
}


def checked_format(name: str) -> Format:
    """A format by its name. Raises `InputError` for one that is none."""
    for form in FORMATS:
        if form == name:
            return form
    raise InputError(f"the format is {name!r}; it must be one of {', '.join(FORMATS)}")
