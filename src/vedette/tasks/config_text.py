"""Text to a configuration file: INI, TOML or env, valid under a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jsonschema_rs
import orjson

from vedette.backends.base import Backend
from vedette.engine.constraint.grounded import reads_input
from vedette.errors import CapabilityMissing, ConstraintFailed, InputError
from vedette.types import Answer, Constraint, Item, Json, Request

from .base import Steps
from .budget import answer_tokens, check_at_least_1
from .config_format import KEYS, Format, check, checked_format, write
from .config_schema import narrowed
from .outline import outline
from .prompt_data import fill, prompt_of, text_of, with_instructions
from .reply import check_room, completion_of, cut_of, json_of

SECTION = "main"


@dataclass(frozen=True)
class WriteConfig:
    """Implements `Task`: `{"text": "...", "values": {...}}` for each text.

    The values are written by the model as JSON under the schema, the text from them by a writer
    of `format`, and then read back by the standard library: it says exactly these values, or the
    answer is an error. `section` is where INI has the keys that are in no table. Raises
    `SchemaError` for a schema that the format cannot hold, `InputError` for other options.
    """

    schema: Mapping[str, Any]
    format: Format
    section: str = SECTION
    instructions: str = ""
    max_tokens: int | None = None
    name: str = field(default="config-text", init=False)

    def __post_init__(self) -> None:
        checked_format(self.format)
        if not KEYS["ini"].fullmatch(self.section) or self.section.lower() == "default":
            raise InputError(f"the section {self.section!r} cannot be one of an ini file")
        if self.section != SECTION and self.format != "ini":
            raise InputError(f"{self.format} needs no section; leave it out")
        check_at_least_1("max_tokens", self.max_tokens)
        _ = self._narrowed

    @cached_property
    def _narrowed(self) -> dict[str, Any]:
        return narrowed(self.schema, self.format, self.section)

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for(dict(self.schema), validate_formats=True)

    @cached_property
    def schema_prompt(self) -> str:
        """See `ShowsSchema`."""
        return outline(self._narrowed)

    @cached_property
    def _system(self) -> str:
        text = fill(text_of("config_text", "system"), keys=self.schema_prompt)
        return with_instructions(text, self.instructions)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "schema": orjson.dumps(self._narrowed).decode(),
            "prompt": self._system,
            "parameters": {
                "format": self.format,
                "section": self.section,
                "max_tokens": self.max_tokens,
            },
        }

    def request(self, text: str, n_tokens: int) -> Request:
        """The request for a text of `n_tokens` tokens."""
        source = orjson.dumps(self._narrowed).decode()
        read = text if reads_input(self._narrowed) else ""
        return Request(
            prompt=prompt_of(self._system, text),
            constraint=Constraint("json_schema", source, read),
            max_tokens=self.max_tokens or answer_tokens(self._narrowed, n_tokens),
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("config-text needs a backend that can constrain its output")
        if not item.text.strip():
            return Answer(value=None, extra={"empty": True})
        request = self.request(item.text, backend.count_tokens(item.text))
        check_room(request.prompt, request.max_tokens, backend)
        (result,) = yield [request]
        completion = completion_of(result)
        values = json_of(completion)
        fault = next(self._validator.iter_errors(values), None)
        if fault is not None or not isinstance(values, dict):
            raise ConstraintFailed(f"the answer does not fit the schema: {fault and fault.message}")
        text = write(values, self.format, self.section)
        check(text, values, self.format, self.section)
        return Answer(
            value={"text": text, "values": values},
            usage=completion.usage,
            extra=cut_of(completion),
        )
