"""The JSON Schema of a configuration file, narrowed to what its format can hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from vedette.engine.constraint.json_schema import schema_report
from vedette.errors import SchemaError

from .config_format import KEYS, TEXTS, Format
from .outline import resolve

_SCALARS = ("string", "integer", "number", "boolean")
# What says already which text it is; the written file is read back all the same.
_TEXT_KEYS = {"pattern", "format", "x-verbatim", "x-one-of-input", "x-evidence"}
_BRANCHES = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else")


def narrowed(schema: Mapping[str, Any], form: Format, section: str) -> dict[str, Any]:
    """The schema of the values as they are written: keys with scalars, and one level of tables.

    Keys that are not required may be left out, none is null; INI texts have no line breaks and no
    spaces at their ends. Every value that it allows is valid under `schema`. Raises `SchemaError`
    with the place for what the format cannot hold.
    """
    schema_report(schema)
    root = dict(schema)
    keys = _keys(root, root, form, "")
    if form == "ini":
        if "default" in map(str.lower, keys):
            raise SchemaError("a section DEFAULT would give its values to all others")
        plain = [key for key in keys if not _is_table(resolve(root["properties"][key], root))]
        if plain and section.lower() in (key.lower() for key in keys if key not in plain):
            raise SchemaError(
                f"the schema has a table {section!r} beside keys that go into that section",
                hint="choose another section for keys without a table",
            )
    fields = {key: _field(root["properties"][key], root, form, f"/{key}") for key in keys}
    return {**root, "type": "object", "properties": fields, "additionalProperties": False}


def _keys(table: Mapping[str, Any], root: dict[str, Any], form: Format, place: str) -> list[str]:
    """The keys of a table, found writable and distinct."""
    properties = table.get("properties")
    where = place or "the schema"
    if table.get("type", "object") != "object" or not isinstance(properties, dict):
        raise SchemaError(f"{where} must be an object with properties: the keys of the file")
    extra = next((k for k in (*_BRANCHES, "patternProperties") if k in table), None)
    if extra is not None or table.get("additionalProperties") not in (None, False):
        what = extra or "additionalProperties"
        raise SchemaError(f"{where} has {what!r}; the keys of a file must be its properties")
    wrong = next((key for key in properties if not KEYS[form].fullmatch(key)), None)
    if wrong is not None:
        raise SchemaError(f"{wrong!r} cannot be a key of {form}")
    if form == "ini":
        twice = [k for k, n in Counter(map(str.lower, properties)).items() if n > 1]
        if twice:
            raise SchemaError(f"the key {twice[0]!r} is there twice: case is not told apart in ini")
    return [*properties]


def _is_table(field: Mapping[str, Any]) -> bool:
    return field.get("type") == "object" or "properties" in field


def _field(field: Any, root: dict[str, Any], form: Format, place: str) -> dict[str, Any]:
    """A key's value, or a table of them."""
    resolved = _without_null(resolve(field, root), root)
    if not _is_table(resolved):
        return _value(resolved, root, form, place)
    if form == "env":
        raise SchemaError(f"{place} is a table; an env file has keys only")
    if place.count("/") > 1:
        raise SchemaError(f"{place} is a table inside a table; one level can be written")
    keys = _keys(resolved, root, form, place)
    fields = {
        key: _field(resolved["properties"][key], root, form, f"{place}/{key}") for key in keys
    }
    return {**resolved, "type": "object", "properties": fields, "additionalProperties": False}


def _without_null(field: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A field that is something or null, as that something."""
    branches = field.get("anyOf", field.get("oneOf"))
    if not isinstance(branches, list):
        return field
    kept = [branch for branch in branches if branch != {"type": "null"}]
    if len(kept) != 1:
        return field
    rest = {key: value for key, value in field.items() if key not in ("anyOf", "oneOf")}
    return {**rest, **resolve(kept[0], root)}


def _value(field: dict[str, Any], root: dict[str, Any], form: Format, place: str) -> dict[str, Any]:
    """A scalar, or in TOML a list, that is not null and that the format can hold."""
    branch = next((key for key in _BRANCHES if key in field), None)
    if branch is not None:
        raise SchemaError(f"{place} has {branch!r}; say with type and enum what the value may be")
    if "enum" in field or "const" in field:
        return _closed(field, form, place)
    kinds = field.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    kept = [kind for kind in kinds if kind != "null"]
    allowed = [*_SCALARS, *(["array"] if form == "toml" else [])]
    if not kept or not set(allowed).issuperset(kept):
        given = ", ".join(kinds) or "any"
        raise SchemaError(f"{place} has the type {given}; {form} has {', '.join(allowed)}")
    out = {**field, "type": kept[0] if len(kept) == 1 else kept}
    if "array" in kept:
        items = resolve(field.get("items"), root)
        if not items or "prefixItems" in field:
            raise SchemaError(f"{place} is a list; say in items what each of its values is")
        out["items"] = _value(_without_null(items, root), root, form, f"{place}/items")
    if form in TEXTS and "string" in kept and not _TEXT_KEYS & field.keys():
        out["pattern"] = TEXTS[form]
    return out


def _closed(field: dict[str, Any], form: Format, place: str) -> dict[str, Any]:
    """An enum or a const without null."""
    values = [field["const"]] if "const" in field else field["enum"]
    kept = [value for value in values if value is not None]
    if not kept:
        raise SchemaError(f"{place} may only be null, which {form} does not have")
    for value in kept:
        is_text = isinstance(value, str)
        if isinstance(value, dict | list) or (
            is_text and form in TEXTS and not re.search(TEXTS[form], value)
        ):
            raise SchemaError(f"{place} has the value {value!r}, which {form} cannot hold")
    rest = {key: value for key, value in field.items() if key != "const"}
    return {**rest, "enum": kept}
