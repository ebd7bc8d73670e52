"""The labels of a classification: names, and what they mean."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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

    A file has a label a line (`name` or `name: description`; lines that start with # are
    comments), or is JSON: an object of name -> description, or an array of names. Raises
    `LabelError`, or `FileError` for an unreadable file.
    """
    if not os.path.isfile(spec) and not _looks_like_file(spec):
        return check_labels(Label(part.strip()) for part in spec.split(","))
    try:
        text = Path(spec).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"cannot read the label file {spec}: {reason}") from error
    return check_labels(_parse(text, spec))


def _looks_like_file(spec: str) -> bool:
    """A name without commas; in a list, labels such as `N/A` have a slash too."""
    is_list = "," in spec
    return not is_list and ("/" in spec or Path(spec).suffix in (".txt", ".json", ".labels"))


def _parse(text: str, where: str) -> list[Label]:
    if text.lstrip().startswith(("{", "[")):
        return _parse_json(text, where)
    lines = [line.strip() for line in text.splitlines()]
    parts = [line.partition(":") for line in lines if line and not line.startswith("#")]
    return [Label(name.strip(), description.strip()) for name, _, description in parts]


def _parse_json(text: str, where: str) -> list[Label]:
    try:
        # Pairs, so that a name that is there twice is seen.
        data = json.loads(text, object_pairs_hook=tuple)
    except (json.JSONDecodeError, RecursionError) as error:
        raise LabelError(f"{where} is not JSON: {error}") from error
    pairs = data if isinstance(data, tuple) else [(name, None) for name in data]
    for name, description in pairs:
        if not isinstance(name, str) or not isinstance(description, str | None):
            raise LabelError(
                f"{where} is not a label list",
                hint="write an array of names, or an object of name -> description",
            )
    return [Label(name, description or "") for name, description in pairs]
