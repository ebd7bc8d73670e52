"""How clients ask for structured answers: as of OpenAI, llama-server, vLLM, and Ollama.

All of them become one constraint, which is enforced while the answer is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

import orjson
from pydantic import Field

from vedette.types import Constraint

from .body import Body
from .problems import Refusal

LLGUIDANCE = "%llguidance"
"""What a grammar in Lark begins with where GBNF is usual, as llama-server has it."""

Schema: TypeAlias = dict[str, Any]


class JsonSchema(Body):
    """The schema of `response_format`. Every schema is enforced, `strict` or not."""

    name: str = ""
    description: str | None = None
    schema_: Annotated[Schema, Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Body):
    """What the answer must be; `schema` beside the type `json_object` is llama-server's."""

    type: str
    json_schema: JsonSchema | None = None
    schema_: Annotated[Schema | None, Field(alias="schema")] = None

    def constraint(self) -> Constraint | None:
        """As a constraint. Raises `Refusal`."""
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise Refusal("json_schema goes with type json_schema", param="response_format")
        if self.schema_ is not None and self.type != "json_object":
            raise Refusal("schema goes with type json_object", param="response_format")
        if self.json_schema is not None:
            return schema_constraint(self.json_schema.schema_)
        if self.type == "json_object":
            return schema_constraint(self.schema_ or ANY_OBJECT)
        if self.type == "text":
            return None
        raise Refusal(
            f"response_format.type must be text, json_object or json_schema, not {self.type!r}",
            param="response_format.type",
        )


class StructuredOutputs(Body):
    """vLLM's form: one of its fields."""

    json_: Annotated[str | Schema | None, Field(alias="json")] = None
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None

    def constraint(self) -> Constraint:
        """As a constraint. Raises `Refusal` unless there is one field."""
        found = _made(self, _VLLM)
        if found is None:
            raise Refusal("structured_outputs asks for nothing", param="structured_outputs")
        return found


class FormFields(Body):
    """The fields of a body that ask for a form."""

    response_format: ResponseFormat | None = None
    grammar: str | None = None
    json_schema: Schema | None = None
    format: str | Schema | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: str | Schema | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None

    def constraint(self) -> Constraint | None:
        """What the answer is held to. Raises `Refusal` for more than one form."""
        return _made(self, _FORMS)


Makers: TypeAlias = Mapping[str, Callable[[Any], Constraint | None]]
ANY_OBJECT: Schema = {"type": "object"}


def _made(body: Body, makers: Makers) -> Constraint | None:
    """The one constraint that the fields make. Raises `Refusal` for more."""
    given = {name: value for name in makers if (value := getattr(body, name)) is not None}
    found = {name: one for name, value in given.items() if (one := makers[name](value))}
    if len(found) > 1:
        names = [name.rstrip("_") for name in found]
        raise Refusal(f"give only one of {' and '.join(names)}", param=names[1])
    return next(iter(found.values()), None)


def schema_constraint(schema: Schema) -> Constraint:
    """A JSON Schema as a constraint. Raises `Refusal` for what is no JSON by RFC 8259."""
    try:
        return Constraint("json_schema", orjson.dumps(schema).decode())
    except orjson.JSONEncodeError as error:
        raise Refusal(f"the schema cannot be written as JSON: {error}") from error


def _written_schema(schema: str | Schema) -> Constraint:
    """A schema, or the JSON text of one."""
    if isinstance(schema, dict):
        return schema_constraint(schema)
    try:
        read = orjson.loads(schema)
    except orjson.JSONDecodeError as error:
        raise Refusal(f"the schema is not JSON: {error.msg}") from error
    if not isinstance(read, dict):
        raise Refusal("the schema must be a JSON object")
    return schema_constraint(read)


def _format(value: str | Schema) -> Constraint:
    """Ollama's: a schema, or the word json."""
    if isinstance(value, dict):
        return schema_constraint(value)
    if value != "json":
        raise Refusal(f'format must be "json" or a schema, not {value!r}', param="format")
    return schema_constraint(ANY_OBJECT)


def _choice(choices: list[str]) -> Constraint:
    try:
        return Constraint("choice", orjson.dumps(choices).decode())
    except orjson.JSONEncodeError as error:
        raise Refusal(f"the choices cannot be written as JSON: {error}") from error


def _gbnf(grammar: str) -> Constraint:
    """llama-server's grammars: GBNF, or marked as Lark."""
    is_lark = grammar.lstrip().startswith(LLGUIDANCE)
    return Constraint("lark" if is_lark else "gbnf", grammar)


def _any_grammar(grammar: str) -> Constraint:
    """vLLM's grammars: EBNF as GBNF has it, else Lark."""
    return _gbnf(grammar) if "::=" in grammar else Constraint("lark", grammar)


_FORMS: Makers = {
    "response_format": ResponseFormat.constraint,
    "grammar": _gbnf,
    "json_schema": schema_constraint,
    "format": _format,
    "structured_outputs": StructuredOutputs.constraint,
    "guided_json": _written_schema,
    "guided_regex": lambda regex: Constraint("regex", regex),
    "guided_choice": _choice,
    "guided_grammar": _any_grammar,
}
_VLLM: Makers = {
    "json_": _written_schema,
    "regex": lambda regex: Constraint("regex", regex),
    "choice": _choice,
    "grammar": _any_grammar,
    "json_object": lambda wanted: schema_constraint(ANY_OBJECT) if wanted else None,
}
