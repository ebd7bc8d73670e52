"""LoRA adapters as users name them: `NAME=PATH[:SCALE]`, several separated by commas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from vedette.engine.adapters import check_name
from vedette.errors import InputError

FORM = "NAME=PATH, or NAME=PATH:SCALE"


@dataclass(frozen=True, slots=True)
class Persona:
    """An adapter's file, what it is called here, and the scale at which it is meant."""

    name: str
    path: Path
    scale: float = 1.0


def parse_personas(text: str) -> tuple[Persona, ...]:
    """The personas that a text names. Raises `InputError` for what is none, or named twice."""
    found = tuple(_persona(part.strip()) for part in text.split(",") if part.strip())
    names = [persona.name for persona in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"lora names {name!r} twice")
    return found


def _persona(text: str) -> Persona:
    name, equals, rest = text.partition("=")
    if not equals or not rest:
        raise InputError(f"lora is {text!r}", hint=f"it is {FORM}")
    check_name(name)
    path, colon, number = rest.rpartition(":")
    scale = _number(number) if colon else None
    if scale is None:  # a colon of the path's own
        return Persona(name, _expanded(rest))
    if not math.isfinite(scale) or not path:
        raise InputError(f"lora is {text!r}", hint=f"it is {FORM}, the scale a finite number")
    return Persona(name, _expanded(path), scale)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _expanded(path: str) -> Path:
    return Path(path).expanduser()
