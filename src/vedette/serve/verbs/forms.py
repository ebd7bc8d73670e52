"""The JSON of options that are no JSON themselves. Nothing of it names a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from vedette.decide.question import Question, ask, parse_questions
from vedette.errors import InputError
from vedette.tasks.calibrations import calibrations_of
from vedette.tasks.clean import Defaults
from vedette.tasks.command_spec import spec_of
from vedette.tasks.extract_thresholds import extract_thresholds_of
from vedette.tasks.guard.policy import Policy
from vedette.tasks.guard.policy_file import built_in
from vedette.tasks.guard.thresholds import thresholds_of
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label, check_labels
from vedette.tasks.tool_defs import tools_of

PolicyName = Literal[
    "prompt-injection", "indirect-injection", "jailbreak", "privacy", "secrets", "content"
]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str


class LabelledRow(_Row):
    """A text with its right label, or its right labels."""

    label: str | None = None
    labels: list[str] | None = None


class ExampleRow(_Row):
    """A text with its right answer."""

    value: Any


@dataclass(frozen=True, slots=True)
class Form:
    """`json` is the type of the JSON, `read` makes the value of it. Raises `InputError`."""

    json: Any
    read: Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _schema(value: dict[str, Any] | str) -> dict[str, Any] | str:
    if isinstance(value, str) and value.endswith(".json"):
        raise InputError(
            f"the schema {value!r} is no field list, and no file of the server is read",
            hint="give the schema itself",
        )
    return value


def _labels(value: list[str] | dict[str, str | None]) -> tuple[Label, ...]:
    pairs = value.items() if isinstance(value, dict) else ((name, None) for name in value)
    return check_labels(Label(name, meaning or "") for name, meaning in pairs)


def _labelled(rows: list[LabelledRow]) -> tuple[LabelledText, ...]:
    return tuple(LabelledText(row.text, _labels_of(row)) for row in rows)


def _labels_of(row: LabelledRow) -> tuple[str, ...]:
    if (row.label is None) == (row.labels is None):
        raise InputError("an example has a label, or labels where there can be several")
    return tuple(row.labels or ()) if row.label is None else (row.label,)


def _examples(rows: list[ExampleRow]) -> list[tuple[str, Any]]:
    return [(row.text, row.value) for row in rows]


def _questions(value: list[str] | dict[str, Any]) -> tuple[Question, ...]:
    if isinstance(value, dict):
        return parse_questions(value)
    return tuple(ask(line, number) for number, line in enumerate(value, start=1))


def _policies(names: list[str]) -> tuple[Policy, ...]:
    return tuple(map(built_in, names))


_OBJECT = Form(dict[str, Any], _same)

FORMS: dict[str, Form] = {
    "tuple[str, ...]": Form(list[str], tuple),
    "Iterable[str]": Form(list[str], tuple),
    "Iterable[str] | Mapping[str, str]": Form(list[str] | dict[str, str], _same),
    "Mapping[str, Any]": _OBJECT,
    "Mapping[str, Json]": _OBJECT,
    "Schema": Form(dict[str, Any] | str, _schema),
    "Labels": Form(list[str] | dict[str, str], _same),
    "tuple[Label, ...]": Form(list[str] | dict[str, str | None], _labels),
    "tuple[LabelledText, ...]": Form(list[LabelledRow], _labelled),
    "Iterable[tuple[str, Json]]": Form(list[ExampleRow], _examples),
    "tuple[Question, ...]": Form(list[str] | dict[str, Any], _questions),
    "Calibrations": Form(dict[str, Any], calibrations_of),
    "ExtractThresholds": Form(dict[str, Any], extract_thresholds_of),
    "GuardThresholds": Form(dict[str, Any], thresholds_of),
    "tuple[Policy, ...]": Form(list[PolicyName], _policies),
    "tuple[Tool, ...]": Form(list[dict[str, Any]], tools_of),
    "CommandSpec": Form(dict[str, Any], spec_of),
    "Defaults": Form(dict[str, str | int], Defaults.of),
}
"""By the type, as a task's own builder writes it."""
