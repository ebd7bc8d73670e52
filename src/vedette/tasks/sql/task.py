"""A question to a SELECT statement that its database accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from vedette.backends.base import Backend
from vedette.errors import CapabilityMissing, ConstraintFailed, InputError
from vedette.tasks.base import Steps
from vedette.tasks.budget import check_at_least_1
from vedette.tasks.prompt_data import fill, text_of, with_instructions
from vedette.tasks.reply import check_room, completion_of, cut_of
from vedette.types import Answer, Constraint, Item, Json, Message, Prompt, Request

from .database import Database
from .grammar import grammar_of
from .rendering import rendered
from .schema import Schema

MAX_TOKENS = 256
_NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


_EXAMPLE = ("example_question", "example_answer")


@dataclass(frozen=True)
class AskDatabase:
    """Implements `Task`: `{"sql": "SELECT ..."}` for each question, null for an empty one.

    The statement reads and changes nothing, names only what is in `schema`, and has been planned
    by the database (EXPLAIN), which takes it well under a millisecond and is why this task, other
    than most, talks to something beside the model. With `rows` N over 0 it is run as well, and
    the value has `columns`, at most N `rows`, and `more`, which says whether there are others.
    Raises `InputError` for numbers out of range and for a schema that cannot be asked.
    """

    database: Database
    schema: Schema
    rows: int = 0
    instructions: str = ""
    max_tokens: int = MAX_TOKENS
    name: str = field(default="sql", init=False)

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise InputError(f"rows is {self.rows}; it must be at least 0")
        check_at_least_1("max_tokens", self.max_tokens)
        grammar_of(self.schema)

    @cached_property
    def _system(self) -> str:
        text = fill(
            text_of("sql", "system"),
            tables=rendered(self.schema),
            dialect=_NAMES[self.schema.dialect],
        )
        return with_instructions(text, self.instructions)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on; of what is in the tables, only the values that are shown."""
        return {
            "schema": self.schema.identity,
            "grammar": grammar_of(self.schema),
            "prompt": [self._system, *(text_of("sql", key) for key in _EXAMPLE)],
            "parameters": {"rows": self.rows, "max_tokens": self.max_tokens},
        }

    def prompt(self, question: str) -> Prompt:
        """What the model reads: the tables, an example, the question."""
        shared = (
            Message("system", self._system),
            Message("user", text_of("sql", _EXAMPLE[0])),
            Message("assistant", text_of("sql", _EXAMPLE[1])),
        )
        return Prompt((*shared, Message("user", question)), shared_messages=len(shared))

    def request(self, question: str) -> Request:
        """The request for one question."""
        return Request(
            prompt=self.prompt(question),
            constraint=Constraint("lark", grammar_of(self.schema, question), question),
            max_tokens=self.max_tokens,
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`. Raises `ConstraintFailed` for what the database will not run."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("sql needs a backend that can constrain its output")
        question = item.text.strip()
        if not question:
            return Answer(value=None, extra={"empty": True})
        request = self.request(question)
        check_room(request.prompt, request.max_tokens, backend)
        (result,) = yield [request]
        completion = completion_of(result)
        statement = completion.text
        if completion.finish_reason == "length":  # a legal one, perhaps, but not the model's
            raise ConstraintFailed(f"the statement is not whole: {statement}")
        self.database.explain(statement)
        value: dict[str, Json] = {"sql": statement}
        if self.rows:
            found = self.database.rows(statement, self.rows)
            value["columns"] = [*found.columns]
            value["rows"] = [[*row] for row in found.rows]
            value["more"] = found.more
        return Answer(value=value, usage=completion.usage, extra=cut_of(completion))
