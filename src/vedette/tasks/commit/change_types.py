"""The types of a Conventional Commits header, and when the files alone say which one it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vedette.errors import LabelError
from vedette.tasks.labels import Label, check_labels
from vedette.tasks.prompt_data import load_prompt

from .diff import File
from .file_kinds import SOURCE, kind_of_path

_TYPE = re.compile(r"[a-z][a-z0-9-]*")
MAX_TYPE_CHARS = 16

# What a change of nothing but such files is.
_BY_KIND = {"docs": "docs", "test": "test", "ci": "ci", "build": "build", "lock": "build"}


def default_types() -> tuple[Label, ...]:
    """The usual types with their descriptions, from `prompts/commit.toml`."""
    parts = [line.partition(":") for line in load_prompt("commit")["types"]]
    return tuple(Label(name, description.strip()) for name, _, description in parts)


def check_types(types: Sequence[Label]) -> tuple[Label, ...]:
    """The types, found usable in a header. Raises `LabelError`."""
    for label in check_labels(types):
        if not _TYPE.fullmatch(label.name) or len(label.name) > MAX_TYPE_CHARS:
            raise LabelError(
                f"{label.name!r} cannot be the type of a commit",
                hint=f"use lower-case letters, digits and -, at most {MAX_TYPE_CHARS}",
            )
    return tuple(types)


def sure_type(files: Sequence[File], names: Sequence[str]) -> str | None:
    """The type that the files leave no doubt about, if it is among `names`."""
    found = {_BY_KIND.get(kind_of_path(file.path)) for file in files}
    if len(found) == 1 and (only := found.pop()) is not None:
        return only if only in names else None
    return None


def candidates(files: Sequence[File], line: str, types: Sequence[Label]) -> tuple[Label, ...]:
    """The types worth asking about, given the line that says what the change does.

    A type that is said of files of one kind (docs, test, ci, build) is left out unless at least
    half of the changed lines are in such files; `style` unless the change is one of layout, and
    `revert`, which no diff shows. Of what stays, those that do not fit the line's first word go.
    Neither step leaves nothing.
    """
    lines: dict[str, int] = {}
    for file in files:
        kind = _BY_KIND.get(kind_of_path(file.path), SOURCE)
        lines[kind] = lines.get(kind, 0) + file.changed + 1
    half = sum(lines.values()) / 2
    out = {kind for kind in _BY_KIND.values() if lines.get(kind, 0) < half} | {"revert"}
    if not all(map(_is_layout_only, files)):
        out.add("style")
    left = tuple(label for label in types if label.name not in out) or tuple(types)
    fitting = _by_verb().get(line.partition(" ")[0], frozenset())
    return tuple(label for label in left if label.name in fitting) or left


def _by_verb() -> dict[str, frozenset[str]]:
    parts = [entry.partition(":") for entry in load_prompt("commit")["verb_types_en"]]
    return {verb: frozenset(types.split()) for verb, _, types in parts}


def _is_layout_only(file: File) -> bool:
    """Whether nothing but white space differs."""
    if file.status != "modified" or not file.changed:
        return False
    lines = [line for hunk in file.hunks for line in hunk.lines]
    before, after = (
        "".join("".join(line[1:] for line in lines if line[0] == mark).split()) for mark in "-+"
    )
    return before == after
