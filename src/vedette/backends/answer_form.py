"""A constraint as servers take it, and what they answer as vedette takes it.

What a server enforces is never trusted: each answer is held to the constraint here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from vedette.engine.constraint.checker import Checker
from vedette.engine.constraint.compiler import choices_of
from vedette.engine.constraint.json_schema import Fault
from vedette.engine.constraint.verbatim import has_verbatim
from vedette.errors import CapabilityMissing, SchemaError
from vedette.json_text import json_text
from vedette.schema_report import SchemaReport
from vedette.types import Constraint, Json, SchemaOptions

from .prompt_texts import text_of

WRAPPER = "answer"
IN_PROCESS_HINT = "use --backend local, which can"

_FENCED = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)
# Their keys are names, their values schemas.
_MAPS = ("properties", "patternProperties", "$defs")
_DATA = ("enum", "const")
_QUOTED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]")  # what is no operator in an expression
_UNQUOTED = r'[^"\\]*'  # within a JSON string


@dataclass(frozen=True)
class AnswerForm:
    """What an answer must be. `schema` is a JSON Schema for it, in its plainest form.

    `is_text`: the answer is a text, and `schema` one for that text as a JSON string.
    """

    constraint: Constraint
    schema: dict[str, Any] | None
    is_text: bool
    checker: Checker
    report: SchemaReport | None = None

    @property
    def wrapped(self) -> dict[str, Any] | None:
        """The schema as an object, which is all that some servers take."""
        if self.schema is None or self.is_object:
            return self.schema
        inner, definitions = dict(self.schema), {}
        if "$defs" in inner:
            definitions = {"$defs": inner.pop("$defs")}
        return {
            "type": "object",
            "properties": {WRAPPER: inner},
            "required": [WRAPPER],
            "additionalProperties": False,
            **definitions,
        }

    @property
    def is_object(self) -> bool:
        """Whether the answer is a JSON object."""
        return not self.is_text and self.schema is not None and self.schema.get("type") == "object"

    @property
    def requirement(self) -> str:
        """What the answer must be, in words for the model."""
        match self.constraint.kind:
            case "choice":
                listed = "\n".join(f"- {choice}" for choice in choices_of(self.constraint.source))
                return text_of("choice", choices=listed)
            case "regex":
                return text_of("regex", regex=self.constraint.source)
            case "json_schema":
                return text_of("json_schema", schema=json_text(self.schema))
            case kind:
                return text_of("grammar", grammar=self.constraint.source, kind=kind)

    def read(self, text: str, *, is_wrapped: bool) -> tuple[str, Fault | None]:
        """The answer in what a server has sent, and what is wrong with it.

        `is_wrapped` says that the server was asked for the answer within an object.
        """
        first: Fault | None = None
        for candidate in self._candidates(text.strip(), is_wrapped):
            fault = self.checker.fault_of(self.constraint, candidate)
            if fault is None:
                return candidate, None
            first = first or fault
        return text, first

    def _candidates(self, text: str, is_wrapped: bool) -> list[str]:
        """What the answer can be in this text: as it is, out of its fence, or unwrapped."""
        found = [text]
        if fenced := _FENCED.match(text):
            found.append(fenced.group(1).strip())
        value = _parsed(found[-1])
        if isinstance(value, dict) and value.keys() == {WRAPPER} and not self.is_object:
            inner = value[WRAPPER]
            found.append(inner if self.is_text and isinstance(inner, str) else json_text(inner))
        elif self.is_text and isinstance(value, str):
            found.append(value)
        return found[::-1] if is_wrapped else found


def form_of(constraint: Constraint, checker: Checker) -> AnswerForm:
    """The form of a constraint.

    Raises `CapabilityMissing` for what no server can be held to, `SchemaError`, `LabelError` or
    `InputError` for a constraint that is none.
    """
    if constraint.kind == "lark":
        raise CapabilityMissing("this backend takes no Lark grammar", hint=IN_PROCESS_HINT)
    checker.prepare(constraint)
    match constraint.kind:
        case "json_schema":
            return _of_schema(constraint, checker)
        case "choice":
            schema: dict[str, Any] = {"type": "string", "enum": choices_of(constraint.source)}
            return AnswerForm(constraint, schema, True, checker)
        case "regex":
            pattern = {"type": "string", "pattern": f"^(?:{constraint.source})$"}
            try:
                plain = checker.schema(Constraint("json_schema", json.dumps(pattern))).schema
            except SchemaError as error:
                raise CapabilityMissing(
                    f"this backend cannot hold an answer to this regular expression: {error}",
                    hint=IN_PROCESS_HINT,
                ) from error
            return AnswerForm(constraint, plain, True, checker)
        case _:
            return AnswerForm(constraint, None, True, checker)


def _of_schema(constraint: Constraint, checker: Checker) -> AnswerForm:
    options = constraint.options
    if options.strict:
        raise CapabilityMissing(
            "strict cannot be promised here: what a server enforces is checked on the answer",
            hint=IN_PROCESS_HINT,
        )
    if options.order != SchemaOptions().order:
        raise CapabilityMissing(
            f"this backend cannot leave the order of properties {options.order}",
            hint=IN_PROCESS_HINT,
        )
    narrowed = checker.schema(constraint)
    if has_verbatim(narrowed.schema):
        raise CapabilityMissing(
            "this backend cannot hold x-verbatim strings (spans) to the input",
            hint=IN_PROCESS_HINT,
        )
    entries = tuple(replace(entry, verdict="checked") for entry in narrowed.report.keywords)
    report = replace(narrowed.report, keywords=entries)
    return AnswerForm(constraint, narrowed.schema, False, checker, report)


def anchored(schema: Json) -> Any:
    """The schema with each pattern from `^` to `$`: servers want that, or take any for it.

    One that cannot be put so is left out: it is checked on the answer.
    """
    if isinstance(schema, list):
        return [anchored(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            out[key] = {name: anchored(part) for name, part in value.items()}
        elif key == "pattern" and isinstance(value, str):
            out |= {key: whole} if (whole := _anchored(value)) else {}
        else:
            out[key] = value if key in _DATA else anchored(value)
    return out


def _anchored(pattern: str) -> str | None:
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith("\\$")
    inner = pattern[begins : len(pattern) - ends]
    plain = _QUOTED.sub("", inner).replace("(?:", "(")
    if "^" in plain or "$" in plain or "(?" in plain:
        return None
    if begins and ends:
        return pattern
    if (begins or ends) and "|" in plain:
        return None
    return f"^{'' if begins else _UNQUOTED}({inner}){'' if ends else _UNQUOTED}$"


def _parsed(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
