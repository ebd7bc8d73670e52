"""Who answers a request: the local model, or which of the larger ones, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema_rs
import orjson

from vedette.backends.base import Backend
from vedette.config import nearest
from vedette.errors import InputError
from vedette.tasks.prompt_data import fill
from vedette.tasks.red_lines.rules import read, split_input
from vedette.tasks.red_lines.verdict import judge
from vedette.types import Json

from .asked import asked_item
from .choice import Choice, kept
from .closed import Closed, open_closed
from .extraction import Extraction, open_extraction
from .messages import last_user_text, text_of, texts_by
from .tables import UP, DecideTable, TaskTable


@dataclass(frozen=True)
class ClosedTask:
    """A closed question that the local model may answer by itself."""

    closed: Closed
    when: re.Pattern[str]
    item: re.Pattern[str] | None
    reply: str

    @property
    def identity(self) -> Json:
        """What its answers depend on."""
        return self.closed.identity

    def item_of(self, body: Mapping[str, Any]) -> str | None:
        """What the question is about; None for a request that does not ask it."""
        return asked_item(body, self.when, self.item)

    def answered(self, item: str, body: Mapping[str, Any]) -> Choice:
        """The label, or that the request goes up. Raises what the local model raises."""
        told = self.closed.ask(item)
        if told.verdict is None or not told.verdict.keep:
            return Choice(UP, told.reason, usage=told.usage)
        text = fill(self.reply, label=told.verdict.said)
        if not _has_form(text, body.get("response_format")):
            return Choice(UP, "form", usage=told.usage)
        return kept(text, told.verdict.confidence, told.usage)


LocalTask: TypeAlias = ClosedTask | Extraction
"""What the local model may answer by itself."""


@dataclass(frozen=True)
class Decider:
    """The steps of a route's `decide`, in the order in which they are taken.

    A task that the request asks is answered, or goes up. What is too long or crosses a red
    line goes up. Of the rest a question may decide. Where nothing does, it goes `otherwise`.
    """

    tasks: tuple[LocalTask, ...]
    max_prompt_tokens: int | None
    red_lines: bool
    question: Closed | None
    tiers: Mapping[str, str]
    otherwise: str
    backend: Backend

    @property
    def identity(self) -> Json:
        """What its choices depend on besides its table."""
        asked = [*self.tasks, *([self.question] if self.question else [])]
        return [one.identity for one in asked]

    def choose(self, body: Mapping[str, Any]) -> Choice:
        """Who answers. Raises what the local model raises: to fail is not to be in doubt."""
        for task in self.tasks:
            item = task.item_of(body)
            if item is not None:
                return task.answered(item, body)
        if (reason := self._beyond(body)) is not None:
            return Choice(UP, reason)
        if self.question is not None:
            told = self.question.ask(last_user_text(body))
            if told.verdict is None or not told.verdict.keep:
                return Choice(UP, f"question:{told.reason}", usage=told.usage)
            tier = self.tiers.get(told.verdict.said)
            if tier is not None:
                return Choice(tier, f"question:{told.verdict.said}", usage=told.usage)
            return Choice(self.otherwise, "otherwise", usage=told.usage)
        return Choice(self.otherwise, "otherwise")

    def _beyond(self, body: Mapping[str, Any]) -> str | None:
        """Why a small model is not to be asked, if it is not."""
        if self.max_prompt_tokens is not None:
            n_tokens = sum(self.backend.count_tokens(text_of(one)) for one in body["messages"])
            if n_tokens > self.max_prompt_tokens:
                return f"length:{n_tokens}"
        if not self.red_lines:
            return None
        # What instructs has a text to work on, the user's turn; that one may ask by itself too.
        asked = [(text, True) for text in texts_by(body, instructing=True)]
        for text, has_input in [*asked, (last_user_text(body), False)]:
            task, pasted = split_input(text)
            given = has_input or bool(pasted)
            verdict = judge(read(task, has_input=given, may_be_long=not given))
            if verdict.route == "up":
                return f"red-line:{verdict.kind.replace(' ', '-')}"
        return None


def _has_form(text: str, form: object) -> bool:
    """Whether a text is what `response_format` asks for."""
    kind = form.get("type") if isinstance(form, Mapping) else None
    if not isinstance(form, Mapping) or kind == "text":
        return True
    try:
        value = orjson.loads(text)
        if kind == "json_schema":
            return bool(jsonschema_rs.is_valid(form["json_schema"]["schema"], value))
        return kind == "json_object" and isinstance(value, dict)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return False  # a schema that is none is for who is asked to say


def open_decider(table: DecideTable, backend: Backend, base: Path, where: str) -> Decider:
    """The decider of a route; `where` is its key. Raises as `open_closed`."""
    question = None
    tiers: Mapping[str, str] = {}
    if table.question is not None:
        question = open_closed(table.question, backend, base, f"{where}.question")
        tiers = table.question.tiers
        for answer in tiers:
            if answer not in question.answers:
                meant = nearest(answer, question.answers)
                raise InputError(
                    f"{where}.question.tiers: {answer!r} is no answer to the question",
                    hint=f"Did you mean {meant}?"
                    if meant
                    else f"The answers are {', '.join(question.answers)}.",
                )
    tasks = tuple(
        _task(one, backend, base, f"{where}.tasks.{place}") for place, one in enumerate(table.tasks)
    )
    return Decider(
        tasks=tasks,
        max_prompt_tokens=table.max_prompt_tokens,
        red_lines=table.red_lines,
        question=question,
        tiers=tiers,
        otherwise=table.otherwise,
        backend=backend,
    )


def _task(table: TaskTable, backend: Backend, base: Path, where: str) -> LocalTask:
    named = [name for name in ("ask", "labels", "extract") if getattr(table, name) is not None]
    if len(named) != 1:
        raise InputError(f"{where} must have one of ask, labels and extract")
    item = _pattern(table.item, f"{where}.item") if table.item else None
    if item is not None and item.groups != 1:
        raise InputError(f"{where}.item must have one group: what the question is about")
    when = _pattern(table.when, f"{where}.when")
    if table.extract is not None:
        return open_extraction(table, when, item, backend, base, where)
    if "{label}" not in table.reply:
        raise InputError(f"{where}.reply must have {{label}} where the answer stands")
    closed = open_closed(table, backend, base, where)
    return ClosedTask(closed, when, item, table.reply)


def _pattern(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InputError(f"{where} is no regular expression: {error}") from error
