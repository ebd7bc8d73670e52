"""The labels of a classification: names, and what they mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from vedette.errors import FileError, LabelError


@dataclass(frozen=True, slots=True)
class Label:
    """A label as it is answered, and a sentence for the model."""

    name: str
    description: str = ""


def check_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels, found usable. Raises `LabelError` for none, an empty or a repeated one."""
    checked = tuple(labels)
    if not checked:
        raise LabelError("the label list is empty")
    if any(not label.name.strip() for label in checked):
        raise LabelError("a label has an empty name")
    twice = [name for name, n in Counter(label.name for label in checked).items() if n > 1]
    if twice:
        raise LabelError(
            f"the label list has duplicates: {', '.join(map(repr, twice))}",
            hint="name each label once",
        )
    return checked


def read_labels(spec: str) -> tuple[Label, ...]:
    """Labels from `a,b,c`, or from a file.

    A file has a label a line (`name` or `name: description`), or is JSON: an object of name ->
    description, or an array of names. Raises `LabelError`, or `FileError` for an unreadable file.
    """
    path = Path(spec)
    looks_like_file = path.suffix in (".txt", ".json", ".labels") or "/" in spec
    if not looks_like_file and not path.is_file():
        return check_labels(Label(part.strip()) for part in spec.split(","))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read the label file {spec}: {error}") from error
    return check_labels(_parse(text, spec))


def _parse(text: str, where: str) -> list[Label]:
    if text.lstrip().startswith(("{", "[")):
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise LabelError(f"{where} is not JSON: {error}") from error
        if isinstance(data, dict):
            return [Label(name, str(value or "")) for name, value in data.items()]
        return [Label(str(name)) for name in data]
    lines = [line.strip() for line in text.splitlines()]
    parts = [line.partition(":") for line in lines if line and not line.startswith("#")]
    return [Label(name.strip(), description.strip()) for name, _, description in parts]
