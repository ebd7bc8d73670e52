"""Tools that a model may call: OpenAI function definitions, looked through before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from vedette.engine.constraint.json_schema import schema_report
from vedette.errors import InputError, SchemaError

from .outline import outline

_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DEFINITION_KEYS = ("type", "function")
_FUNCTION_KEYS = ("name", "description", "parameters", "strict")
# An object schema with nothing but these takes no arguments, not any arguments.
_SAY_NOTHING = {"type", "properties", "required", "title", "description", "$schema", "$id"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that can be called: its name, what it does, a JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def required(self) -> frozenset[str]:
        """The arguments that every call has."""
        return frozenset(self.parameters.get("required", ()))

    @property
    def signature(self) -> str:
        """`name(a, b?)`: optional arguments have a question mark."""
        names = self.parameters.get("properties", {})
        shown = (name if name in self.required else f"{name}?" for name in names)
        return f"{self.name}({', '.join(shown)})"

    @property
    def summary(self) -> str:
        """The signature with what the function does, on one line."""
        text = " ".join(self.description.split())
        return f"{self.signature}: {text}" if text else self.signature

    @property
    def manual(self) -> str:
        """The summary, and a line for each argument with its type and description."""
        lines = outline(dict(self.parameters)).splitlines()
        return "\n".join([self.summary, *(f"  {line}" for line in lines)])


def tools_of(definitions: object) -> tuple[Tool, ...]:
    """Read a list of definitions, `{"type": "function", "function": {...}}` or bare functions.

    The form is that of the `tools` of a chat request (OpenAI API reference, chat completions).
    Raises `InputError` for a definition that is none and for a name that is there twice,
    `SchemaError` for parameters that cannot be used.
    """
    if not isinstance(definitions, list):
        raise InputError(
            f"the tools must be a list of definitions, not {_kind(definitions)}",
            hint='write [{"type": "function", "function": {"name": ..., "parameters": ...}}]',
        )
    if not definitions:
        raise InputError("the list of tools is empty", hint="give at least one definition")
    tools = tuple(_tool(entry, f"tool {i}") for i, entry in enumerate(definitions, start=1))
    names = [tool.name for tool in tools]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(f"the tool {twice!r} is there twice", hint="give each tool its own name")
    return tools


def parse_tools(source: str, where: str) -> tuple[Tool, ...]:
    """Read definitions from the JSON text of the file `where`. Raises as `tools_of` does."""
    try:
        definitions = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"{where} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    return tools_of(definitions)


def call_schema(tools: Sequence[Tool], most: int) -> dict[str, Any]:
    """The schema of a list of 1 to `most` calls, `{"name": ..., "arguments": {...}}` each."""
    return {
        "type": "array",
        "minItems": 1,
        "maxItems": most,
        "items": {"anyOf": [_call(t) for t in tools]},
    }


def _call(tool: Tool) -> dict[str, Any]:
    parameters = dict(tool.parameters)
    # With an id of its own, references inside a tool's schema go on meaning that schema.
    parameters.setdefault("$id", f"urn:tool:{tool.name}")
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _tool(entry: object, place: str) -> Tool:
    if not isinstance(entry, dict):
        raise InputError(f"{place} must be an object, not {_kind(entry)}")
    function: object = entry
    if "function" in entry or entry.get("type") == "function":
        _only(entry, _DEFINITION_KEYS, place)
        if entry.get("type", "function") != "function":
            raise InputError(f'{place} has the type {entry["type"]!r}; only "function" is known')
        function = entry.get("function")
    if not isinstance(function, dict):
        raise InputError(f'{place}: "function" must be an object, not {_kind(function)}')
    _only(function, _FUNCTION_KEYS, place)
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"{place} has the name {name!r}",
            hint="a name has 1 to 64 letters, digits, underscores, dots and dashes",
        )
    place = f"tool {name!r}"
    description = function.get("description") or ""
    if not isinstance(description, str):
        raise InputError(f"{place}: the description must be a text, not {_kind(description)}")
    if not isinstance(function.get("strict") or False, bool):
        raise InputError(f"{place}: strict must be true or false, not {function['strict']!r}")
    return Tool(name, description, _parameters(function.get("parameters"), place))


def _parameters(schema: object, place: str) -> dict[str, Any]:
    """The schema of the arguments, for an object and closed where it declares none."""
    if schema is None:
        schema = {}
    if not isinstance(schema, dict):
        raise SchemaError(f"{place}: the parameters must be a schema, not {_kind(schema)}")
    schema = {"type": "object", **schema}
    if schema["type"] != "object":
        raise SchemaError(
            f"{place}: the parameters have the type {schema['type']!r}",
            hint='arguments have names, so the type of "parameters" must be "object"',
        )
    if not schema.get("properties") and schema.keys() <= _SAY_NOTHING:
        schema["additionalProperties"] = False
    try:
        schema_report(schema)
    except SchemaError as error:
        raise SchemaError(f"{place}: {error.message}", hint=error.hint) from error
    return schema


def _only(entry: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    unknown = next((key for key in entry if key not in known), None)
    if unknown is not None:
        raise InputError(
            f"{place} has the unknown key {unknown!r}", hint=f"known are {', '.join(known)}"
        )


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
