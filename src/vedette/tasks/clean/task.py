"""Rows to values that fit a schema: by rules, and by a model where rules cannot tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import orjson

from vedette.backends.base import Backend, Result
from vedette.decide.closed import decide
from vedette.engine.constraint.verbatim import MAX_VERBATIM_CHARS
from vedette.errors import CapabilityMissing, InputError, InputTooLong
from vedette.tasks.base import Ask, Steps
from vedette.tasks.budget import answer_tokens
from vedette.tasks.prompt_data import fill, load_prompt, prompt_of, text_of, with_instructions
from vedette.tasks.reply import check_room, completion_of, json_of, scores_of
from vedette.types import Answer, Constraint, Item, Json, Request, ScoreRequest, Usage

from .copied import cuts_a_number
from .fields import Defaults, Field, read_fields
from .rules import settle
from .verdict import Unsettled

RULES_VERSION = 2  # what a journal holds was made by these rules: raise it when they change
CHOICE_KINDS = ("choice", "boolean")
NONE_LABELS = ("unknown", "none", "none of these")
SURE_ABOVE = 0.7


@dataclass(frozen=True)
class Clean:
    """Implements `Task`: the fields of a schema, each in its form, from the columns of a row.

    The value is `{"value": {...}, "changes": [...], "unsettled": [...]}`. `value` has every field;
    one that is missing or unsettled is null. `changes` says of each value that is not as it came
    what made it so: `rule:<kind>` or `model`. `unsettled` says why a value was left open, and for
    one with several readings which ones.

    A model is asked only about values that rules could not read, never about ambiguous ones. It
    copies a part of the value, which the rules then read, or chooses among the values of an enum;
    so it can bring in no number and no word of its own. What it chooses needs a probability over
    `sure_above`. `rules_only` asks none. A row without
    columns is a text, in which every field is looked for. Raises what `read_fields` raises.
    """

    schema: Mapping[str, Any]
    defaults: Defaults = field(default_factory=Defaults)
    rules_only: bool = False
    instructions: str = ""
    sure_above: float = SURE_ABOVE
    name: str = field(default="clean", init=False)

    def __post_init__(self) -> None:
        if self.rules_only and self.instructions:
            raise InputError("instructions are for the model, and none is asked")
        if self.rules_only and self.sure_above != SURE_ABOVE:
            raise InputError("sure_above is about the model, and none is asked")
        if not 0 <= self.sure_above < 1:
            raise InputError(f"sure_above is {self.sure_above:g}; it must be in [0, 1)")
        _ = self.fields

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the schema."""
        return read_fields(self.schema, self.defaults)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys(one.source for one in self.fields))

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        prompt = {} if self.rules_only else cast(dict[str, Json], load_prompt("clean"))
        return {
            "schema": orjson.dumps(self.schema).decode(),
            "prompt": orjson.dumps(prompt).decode(),
            "parameters": {
                "defaults": dict(self.defaults.given),
                "rules_only": self.rules_only,
                "instructions": self.instructions,
                "sure_above": self.sure_above,
                "rules": RULES_VERSION,
                **{name: _version(name) for name in ("babel", "phonenumbers")},
            },
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        cells = [_Cell(one, self._raw(one, item)) for one in self.fields]
        if item.columns and not any(source in item.columns for source in self.sources):
            names = ", ".join(map(repr, self.sources))
            raise InputError(f"the row has none of the fields {names}")
        for cell in cells:
            cell.by_rules()
        usage = Usage()
        open_cells = [] if self.rules_only else [cell for cell in cells if cell.may_ask]
        asked = [(cell, ask) for cell in open_cells if (ask := self._ask(cell, backend))]
        if asked:
            results = yield [ask for _, ask in asked]
            for (cell, _), result in zip(asked, results, strict=True):
                cell.by_model(result, self.sure_above)
            usage = sum((result.usage for result in results), usage)
        return Answer(value=_value(cells), usage=usage)

    @staticmethod
    def _raw(one: Field, item: Item) -> Json:
        return item.columns.get(one.source) if item.columns else item.text

    def _ask(self, cell: _Cell, backend: Backend) -> Ask | None:
        """The question about a value; None where it is too long to be asked about."""
        capabilities = backend.capabilities
        is_choice = cell.field.kind in CHOICE_KINDS
        if not (capabilities.can_score if is_choice else capabilities.can_constrain):
            raise CapabilityMissing("clean needs a backend that can constrain and score")
        ask = (
            self.choice(cell.field, cell.text)
            if is_choice
            else self.copy(cell.field, cell.text, backend.count_tokens(cell.text))
        )
        try:
            check_room(ask.prompt, ask.max_tokens if isinstance(ask, Request) else 1, backend)
        except InputTooLong as error:
            cell.unsettled = Unsettled(f"too long for the model: {error.message}")
            return None
        return ask

    def copy(self, one: Field, text: str, n_tokens: int) -> Request:
        """Have the part copied that the rules are to read; the text has `n_tokens` tokens."""
        what = cast(dict[str, str], cast(object, load_prompt("clean")["what"]))[one.kind]
        span = {"type": ["string", "null"], "x-verbatim": True, "maxLength": MAX_VERBATIM_CHARS}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {one.name: span},
            "required": [one.name],
        }
        system = fill(text_of("clean", "copy"), what=what, field=_told(one))
        user = fill(text_of("clean", "copy_user"), value=text)
        return Request(
            prompt=prompt_of(with_instructions(system, self.instructions), user),
            constraint=Constraint("json_schema", orjson.dumps(schema).decode(), text),
            max_tokens=answer_tokens(schema, n_tokens),
        )

    def choice(self, one: Field, text: str) -> ScoreRequest:
        """Have one of a field's values chosen, or none of them."""
        names = choice_names(one)
        listing = "\n".join(f"- {name}" for name in names[:-1])
        system = fill(text_of("clean", "choose"), field=_told(one), choices=listing, none=names[-1])
        user = fill(text_of("clean", "choose_user"), value=text)
        prompt = prompt_of(with_instructions(system, self.instructions), user)
        return ScoreRequest(prompt=prompt, choices=names)


class _Cell:
    """A field's value on its way: as it came, and settled or not."""

    def __init__(self, field: Field, raw: Json) -> None:
        self.field = field
        self.raw = raw
        self.value: Json = None
        self.unsettled: Unsettled | None = None
        self.change: dict[str, Json] = {}

    @property
    def text(self) -> str:
        """What a model reads."""
        return self.raw if isinstance(self.raw, str) else orjson.dumps(self.raw).decode()

    @property
    def may_ask(self) -> bool:
        """Whether a model may find what the rules did not see."""
        return self.unsettled is not None and self.unsettled.ask and isinstance(self.raw, str)

    def by_rules(self) -> None:
        """Let the field's rule read the value."""
        try:
            self.value = settle(self.raw, self.field)
        except Unsettled as why:
            self.unsettled = why
            return
        if not _is_same(self.value, self.raw):
            rule = "missing" if self.value is None else self.field.kind
            self.change = {"by": f"rule:{rule}"}

    def by_model(self, result: Result, sure_above: float) -> None:
        """Take what a model answered, if it holds."""
        try:
            if self.field.kind in CHOICE_KINDS:
                self._take_choice(result, sure_above)
            else:
                self._take_copy(result)
        except Unsettled as why:
            self.unsettled = why
        else:
            self.unsettled = None

    def _take_choice(self, result: Result, sure_above: float) -> None:
        names = choice_names(self.field)
        decision = decide(names, scores_of(result).logprobs)
        if decision.best == names[-1]:
            raise Unsettled(f"{self.unsettled}, and the model says so too")
        if decision.probability <= sure_above:
            raise Unsettled(f"{self.unsettled}, and the model is not sure of one")
        missing = set(re.findall(r"\d+", decision.best)) - set(re.findall(r"\d+", self.text))
        if missing:
            raise Unsettled(f"the model chose {decision.best!r}, a number that is not there")
        self.value = choices_of(self.field)[names.index(decision.best)]
        if (fault := self.field.fault(self.value)) is not None:
            raise Unsettled(f"does not fit the schema: {fault}")
        self.change = {"by": "model", "probability": round(decision.probability, 4)}

    def _take_copy(self, result: Result) -> None:
        reply = json_of(completion_of(result))
        span = reply.get(self.field.name) if isinstance(reply, dict) else None
        if not isinstance(span, str) or not span.strip():
            raise Unsettled(f"{self.unsettled}; the model found nothing in it")
        if span not in self.text:
            raise Unsettled(f"the model wrote {span!r}, which is not there")
        if cuts_a_number(span, self.text):
            raise Unsettled(f"the model copied {span!r}, a part of a number")
        self.value = settle(span, self.field.without_assumptions)
        if self.value is None:
            raise Unsettled(f"{self.unsettled}; the model found nothing in it")
        self.change = {"by": "model", "copied": span, "rule": self.field.kind}


def choices_of(one: Field) -> tuple[Json, ...]:
    """What a field may be that is chosen."""
    return (True, False) if one.kind == "boolean" else one.choices


def choice_names(one: Field) -> tuple[str, ...]:
    """These in words, and at last what stands for none of them."""
    names = ("yes", "no") if one.kind == "boolean" else tuple(map(str, one.choices))
    none = next(label for label in (*NONE_LABELS, "-") if label not in names)
    return (*names, none)


def _value(cells: list[_Cell]) -> Json:
    changes: list[Json] = []
    unsettled: list[Json] = []
    for cell in cells:
        name = cell.field.name
        if cell.unsettled is not None:
            left: dict[str, Json] = {"field": name, "from": cell.raw, "reason": str(cell.unsettled)}
            if cell.unsettled.candidates:
                left["candidates"] = [*cell.unsettled.candidates]
            unsettled.append(left)
        elif cell.change:
            changes.append({"field": name, "from": cell.raw, "to": cell.value, **cell.change})
    values: dict[str, Json] = {
        cell.field.name: None if cell.unsettled else cell.value for cell in cells
    }
    return {"value": values, "changes": changes, "unsettled": unsettled}


def _told(one: Field) -> str:
    """A field as the model is told of it."""
    said = one.schema.get("description") or one.schema.get("title")
    return f"{one.name} ({' '.join(said.split())})" if isinstance(said, str) else one.name


def _is_same(value: Json, raw: Json) -> bool:
    return type(value) is type(raw) and value == raw


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
