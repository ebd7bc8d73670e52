"""`[gateway]` as it is read: every mistake is one sentence that names the key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from vedette.backends.address import parse_address
from vedette.config import nearest, plainly
from vedette.errors import InputError

from .tables import LOCAL, UP, GatewayTable

_VARIABLE = re.compile(r"\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
_MAYBE_VARIABLE = re.compile(r"\$\{([^}]*)\}?")


def read_gateway(data: Mapping[str, object], where: Path) -> GatewayTable:
    """The table `[gateway]` of the file `where`.

    `${env.NAME}` in a text is that variable's value. Raises `InputError` for an unknown key (with
    the nearest one that there is), a wrong value, a variable that is not set, and names that
    belong to nothing.
    """
    _refuse_unknown(GatewayTable, data, "gateway", where)
    _refuse_written_keys(data, where)
    filled = _filled(data, "gateway", where)
    try:
        table = GatewayTable.model_validate(filled)
    except ValidationError as error:
        raise _explained(error, where) from None
    _check_tiers(table, where)
    _check_routes(table, where)
    return table


def _refuse_unknown(kind: type[BaseModel], data: object, key: str, where: Path) -> None:
    """Raise for the first key that its table does not have."""
    if not isinstance(data, Mapping):
        return
    for name, value in data.items():
        field = kind.model_fields.get(name)
        if field is None:
            meant = nearest(name, kind.model_fields)
            hint = f"Did you mean {meant}?" if meant else f"Valid are {_listed(kind.model_fields)}."
            raise InputError(f"unknown key {name} in [{key}] of {where}", hint=hint)
        for inner, of_each in _tables_in(field.annotation):
            here = f"{key}.{name}"
            match of_each, value:
                case "name", Mapping():
                    for own, one in value.items():
                        _refuse_unknown(inner, one, f"{here}.{own}", where)
                case "place", list():
                    for place, one in enumerate(value):
                        _refuse_unknown(inner, one, f"{here}.{place}", where)
                case "", _:
                    _refuse_unknown(inner, value, here, where)


def _tables_in(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """The tables that a key may hold, and what tells them apart: a name, a place, or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        for one in inner:
            yield from _tables_in(one)
    elif origin in (dict, list):
        for table, _ in _tables_in(inner[-1]):
            yield table, "name" if origin is dict else "place"


def _refuse_written_keys(data: Mapping[str, object], where: Path) -> None:
    tiers = data.get("tiers")
    for name, tier in tiers.items() if isinstance(tiers, Mapping) else ():
        key = tier.get("api_key") if isinstance(tier, Mapping) else None
        if isinstance(key, str) and not _VARIABLE.fullmatch(key):
            raise InputError(
                f"gateway.tiers.{name}.api_key in {where} holds a key itself",
                hint='put it into a variable, and write api_key = "${env.NAME}"',
            )


def _filled(value: object, key: str, where: Path) -> object:
    """The value with variables in the places of `${env.NAME}`."""
    if isinstance(value, Mapping):
        return {name: _filled(one, f"{key}.{name}", where) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, f"{key}.{place}", where) for place, one in enumerate(value)]
    if not isinstance(value, str):
        return value

    def variable(found: re.Match[str]) -> str:
        name = _VARIABLE.fullmatch(found[0])
        if name is None:
            raise InputError(
                f"{key} in {where} has {found[0]!r}", hint="a variable is written ${env.NAME}"
            )
        if not os.environ.get(name[1]):
            raise InputError(
                f"{key} in {where} takes the variable {name[1]}, which is not set",
                hint=f"set {name[1]}",
            )
        return os.environ[name[1]]

    return _MAYBE_VARIABLE.sub(variable, value)


def _explained(error: ValidationError, where: Path) -> InputError:
    """The first mistake. Its value may be a secret and is not shown."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # Which of several types was tried is nothing that the file says.
    parts = [
        str(part) for part in first["loc"] if not re.search(r"[\[\]-]|^(str|list)$", str(part))
    ]
    key = ".".join(["gateway", *parts])
    if first["type"] == "missing":
        return InputError(f"{key} is missing in {where}")
    problem = plainly(first["msg"])
    return InputError(f"{key} in {where}: {problem}")


def _check_tiers(table: GatewayTable, where: Path) -> None:
    for name, tier in table.tiers.items():
        if name in (LOCAL, UP):
            raise InputError(
                f"gateway.tiers.{name} in {where}: the name {name} is taken",
                hint="name the tier otherwise",
            )
        try:
            parse_address(f"openai:{tier.base_url}")
        except InputError as error:
            raise InputError(
                f"gateway.tiers.{name}.base_url in {where} is no URL of a server: "
                f"{error.hint or error.message}"
            ) from None
    for key, tier_name in _named_tiers(table):
        known = [*table.tiers, *([] if key == "large" else [LOCAL])]
        if tier_name in known:
            continue
        meant = nearest(tier_name, known)
        raise InputError(
            f"gateway.{key} in {where}: there is no tier {tier_name}",
            hint=f"Did you mean {meant}?" if meant else f"The tiers are {_listed(known)}.",
        )


def _named_tiers(table: GatewayTable) -> Iterator[tuple[str, str]]:
    if table.large is not None:
        yield "large", table.large
    for name, route in table.routes.items():
        for place, tier in enumerate(route.call):
            yield f"routes.{name}.call.{place}", tier
        if route.decide is not None and route.decide.question is not None:
            for answer, tier in route.decide.question.tiers.items():
                yield f"routes.{name}.decide.question.tiers.{answer}", tier


def _check_routes(table: GatewayTable, where: Path) -> None:
    taken: dict[str, str] = {}
    for name, route in table.routes.items():
        if route.cache and route.redact is not None and route.redact.entities:
            raise InputError(
                f"gateway.routes.{name}.cache in {where}: what a model finds can differ from run "
                "to run, and answers would come back with other names",
                hint="leave out cache, or redact.entities",
            )
        for asked in route.names(name):
            if asked in taken:
                raise InputError(
                    f"gateway.routes.{name}.match in {where}: the route {taken[asked]} answers to "
                    f"{asked} already"
                )
            taken[asked] = name
        if len(set(route.call)) < len(route.call):
            raise InputError(f"gateway.routes.{name}.call in {where} has a tier twice")
        if route.decide is not None and route.call[0] == LOCAL:
            raise InputError(
                f"gateway.routes.{name}.decide in {where}: there is nothing to decide, as call "
                "begins with the local model",
                hint="leave decide out, or call a larger model first",
            )


def _listed(names: object) -> str:
    return ", ".join(names) if isinstance(names, Mapping | list) else str(names)
