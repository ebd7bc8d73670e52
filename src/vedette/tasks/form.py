"""Text into a form: what is known stays, the text fills in more, and what is missing is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from vedette.backends.base import Backend
from vedette.engine.constraint.grounded import reads_input
from vedette.errors import CapabilityMissing, ConstraintFailed, InputError
from vedette.types import Answer, Constraint, Item, Json, Request

from .base import Steps
from .budget import answer_tokens, check_at_least_1
from .form_fields import Form
from .outline import outline
from .prompt_data import fill, prompt_of, text_of, with_instructions
from .reply import check_room, completion_of, cut_of, json_of


@dataclass(frozen=True)
class FillForm:
    """Implements `Task`: a form with what the text adds to what is known.

    The value is `{"form": {...}, "complete": ..., "filled": [...], "missing": [...]}`. `form` has
    every field that has an answer and can be given back as `known`; `filled` names those that the
    text answered; `missing` are the others, each with its question and whether it is required.
    Known are `known` and what the item's column `known_column` holds (which comes first). They are
    kept as they are. Raises `SchemaError` for a schema that is no form, `InputError` for a known
    value that does not fit.
    """

    schema: Mapping[str, Any]
    known: Mapping[str, Json] = field(default_factory=dict)
    known_column: str | None = None
    instructions: str = ""
    max_tokens: int | None = None
    name: str = field(default="form", init=False)

    def __post_init__(self) -> None:
        self.form.checked(dict(self.known), "known")
        check_at_least_1("max_tokens", self.max_tokens)

    @cached_property
    def form(self) -> Form:
        """The form, looked through."""
        return Form(self.schema)

    @cached_property
    def schema_prompt(self) -> str:
        """See `ShowsSchema`."""
        return outline(dict(self.schema))

    @cached_property
    def _system(self) -> str:
        text = fill(text_of("form", "system"), questions=self.schema_prompt)
        return with_instructions(text, self.instructions)

    @cached_property
    def _reads_input(self) -> bool:
        """Whether what a field may be depends on the text."""
        return reads_input(self.schema)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "schema": orjson.dumps(self.schema).decode(),
            "prompt": [self._system, text_of("form", "known"), text_of("form", "user")],
            "known": dict(self.known),
            "parameters": {"max_tokens": self.max_tokens},
        }

    def known_of(self, item: Item) -> dict[str, Json]:
        """What is known before the text is read. Raises `InputError` for what does not fit."""
        own = item.columns.get(self.known_column) if self.known_column else None
        if own is None or own == "":
            own = {}
        place = f"the column {self.known_column}"
        if isinstance(own, str):  # a column of a CSV file
            try:
                own = orjson.loads(own)
            except orjson.JSONDecodeError as error:
                raise InputError(f"{place} is not JSON: {error.msg}") from error
        common = self.form.checked(dict(self.known), "known")
        return {**common, **self.form.checked(own, place)}

    def request(self, text: str, known: Mapping[str, Json], n_tokens: int) -> Request:
        """The request for a text of `n_tokens` tokens."""
        user = fill(text_of("form", "user"), text=text)
        if known:
            user += fill(text_of("form", "known"), known=self.form.text_of_known(known))
        schema = self.form.with_known(known)
        source = orjson.dumps(schema).decode()
        return Request(
            prompt=prompt_of(self._system, user),
            constraint=Constraint("json_schema", source, text if self._reads_input else ""),
            max_tokens=self.max_tokens or answer_tokens(schema, n_tokens),
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("form needs a backend that can constrain its output")
        known = self.known_of(item)
        if not item.text.strip():
            return Answer(value=self._value(known, known), extra={"empty": True})
        if len(known) == len(self.form.fields):
            return Answer(value=self._value(known, known))
        request = self.request(item.text, known, backend.count_tokens(item.text))
        check_room(request.prompt, request.max_tokens, backend)
        (result,) = yield [request]
        completion = completion_of(result)
        reply = json_of(completion)
        if not isinstance(reply, dict):
            raise ConstraintFailed(f"the answer is not a form: {completion.text[:80]}")
        changed = next((name for name in known if reply.get(name) != known[name]), None)
        if changed is not None:
            raise ConstraintFailed(f"the answer does not keep the known {changed!r}")
        value = self._value({name: v for name, v in reply.items() if v is not None}, known)
        return Answer(value=value, usage=completion.usage, extra=cut_of(completion))

    def _value(self, answers: Mapping[str, Json], known: Mapping[str, Json]) -> Json:
        """The form in the order of its fields. Raises `ConstraintFailed` for a wrong answer."""
        form = {n: answers[n] for n in self.form.fields if n in answers}
        fault = self.form.fault(form)
        if fault is not None:
            raise ConstraintFailed(f"the answer does not fit the form: {fault}")
        missing: list[Json] = [
            {
                "field": name,
                "question": self.form.question(name),
                "required": name in self.form.required,
            }
            for name in self.form.fields
            if name not in form
        ]
        return {
            "form": form,
            "complete": self.form.required <= form.keys(),
            "filled": [name for name in form if name not in known],
            "missing": missing,
        }
