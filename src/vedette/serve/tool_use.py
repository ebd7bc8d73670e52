"""Tools of a request: which may be called, and what that makes of its prompt and answer."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import orjson
from fastapi import Request as HttpRequest

from vedette.backends.base import Result
from vedette.backends.local import LocalBackend
from vedette.engine.call_form import CallForm
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Ask
from vedette.tasks.call_grammar import MOST_CALLS, CallGrammar
from vedette.tasks.chat_tools import WRITTEN_FORM, in_words, with_tools_in_words
from vedette.tasks.tool import CallTools
from vedette.tasks.tool_defs import Tool, tools_of
from vedette.types import (
    AdapterScales,
    Completion,
    Message,
    Prompt,
    Request,
    ScoreRequest,
    Scores,
)

from .facts import Facts
from .problems import Refusal

Mode: TypeAlias = Literal["none", "auto", "required"]

MOST_TURNS = 3
"""So many of the last turns are read to decide whether a tool is called, and which."""

OPENING_TOKENS = 8
"""So many tokens show whether a call begins."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools of a request. `named` is the one that must be called, if that is asked for."""

    tools: tuple[Tool, ...]
    definitions: tuple[str, ...]
    mode: Mode
    named: str
    parallel: bool


def tool_use(definitions: Sequence[Any], choice: Any, *, parallel: bool) -> ToolUse | None:
    """What OpenAI's fields ask for; None where there are no tools. Raises `Refusal`.

    `choice` is none, auto, required, or `{"type": "function", "function": {"name": ...}}`.
    """
    if not definitions:
        if choice not in (None, "none", "auto"):
            raise Refusal("tool_choice goes with tools", param="tool_choice")
        return None
    try:
        tools = tools_of(list(definitions))
    except InputError as error:
        raise Refusal(str(error), code=error.code, param="tools") from error
    mode, named = _choice(choice, [tool.name for tool in tools])
    texts = tuple(orjson.dumps(_as_openai(tool)).decode() for tool in tools)
    return ToolUse(tools, texts, mode, named, parallel)


def _choice(choice: Any, names: Sequence[str]) -> tuple[Mode, str]:
    if choice is None or choice == "auto":
        return "auto", ""
    if choice in ("none", "required"):
        return choice, ""
    match choice:
        case {"type": "function", "function": {"name": str(name)}}:
            if name not in names:
                raise Refusal(f"tool_choice: there is no tool {name!r}", param="tool_choice")
            return "required", name
    raise Refusal(
        "tool_choice must be none, auto, required, or a function by its name",
        param="tool_choice",
    )


def _as_openai(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": {**function, "parameters": dict(tool.parameters)}}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a turn is answered: the prompt, and the calls that its answer may hold, if any."""

    prompt: Prompt
    calls: CallGrammar | None = None


async def planned(
    http: HttpRequest,
    facts: Facts,
    talk: Sequence[Message],
    use: ToolUse | None,
    adapters: AdapterScales = (),
) -> Plan:
    """The plan of the next turn.

    Whether a tool is called after a user's turn, and which, is scored as `vedette tool` does it;
    after a tool's turn it is what the model begins to write. An answer in words is written
    without tools and calls in its prompt: small models call where they see calls. Raises what the
    desk and the tools' schemas raise, and `CapabilityMissing` for a backend without the engine.
    """
    words = Plan(Prompt(messages=in_words(talk)))
    if use is None or use.mode == "none":
        return words
    if not isinstance(facts.backend, LocalBackend):
        raise CapabilityMissing(
            "tools are called by a model in this process only", hint="serve it with --backend local"
        )
    engine = facts.backend.engine
    first = use.named
    if not first and talk[-1].role == "user" and (use.mode == "auto" or len(use.tools) > 1):
        tool = await _scored(http, facts, talk, use, adapters)
        if tool is None:
            return words
        first = tool.name
    own = await asyncio.to_thread(lambda: engine.call_form)
    prompt, form = _prompt(talk, use, own), own or WRITTEN_FORM
    if (
        not first
        and use.mode == "auto"
        and not await _begins_call(http, facts, prompt, form, adapters)
    ):
        return words
    most = MOST_CALLS if use.parallel and not use.named else 1
    return Plan(prompt, await asyncio.to_thread(CallGrammar, use.tools, form, most, first))


async def _begins_call(
    http: HttpRequest, facts: Facts, prompt: Prompt, form: CallForm, adapters: AdapterScales
) -> bool:
    """Whether the model, left to itself, begins to write a call."""
    opening = form.texts.opening
    asked = Request(
        prompt=prompt,
        max_tokens=OPENING_TOKENS,
        deadline_s=facts.deadline_s,
        adapters=adapters,
    )
    (answer,) = await facts.desk.answers(http, [asked], Completion)
    written = answer.text.lstrip()
    return written.startswith(opening) or (bool(written) and opening.startswith(written))


def _prompt(talk: Sequence[Message], use: ToolUse, form: CallForm | None) -> Prompt:
    """The chat with its tools; `form` None: the model's template knows none."""
    if form is None:
        return Prompt(messages=with_tools_in_words(talk, use.tools))
    return Prompt(messages=tuple(talk), tools=use.definitions)


async def _scored(
    http: HttpRequest,
    facts: Facts,
    talk: Sequence[Message],
    use: ToolUse,
    adapters: AdapterScales,
) -> Tool | None:
    turns = [turn for turn in in_words(talk) if turn.role != "system"][-MOST_TURNS:]
    task = _task(use.definitions, use.mode == "required")
    steps = task.tool_for(turns, facts.personas.backend_of(adapters))
    return await _driven(http, facts, steps, adapters)


@lru_cache(maxsize=64)
def _task(definitions: tuple[str, ...], required: bool) -> CallTools:
    """Kept, since what a model prefers before it has read anything is measured once for it."""
    return CallTools(tools_of([orjson.loads(one) for one in definitions]), required=required)


async def _driven(
    http: HttpRequest,
    facts: Facts,
    steps: Generator[Sequence[Ask], Sequence[Result], Tool | None],
    adapters: AdapterScales,
) -> Tool | None:
    """Runs steps that ask for scores to their end."""
    results: Sequence[Result] | None = None
    while True:
        # Off the event loop: it counts the tokens of what it asks.
        asked, tool = await asyncio.to_thread(_sent, steps, results)
        questions = [
            replace(one, deadline_s=facts.deadline_s, adapters=adapters)
            for one in asked
            if isinstance(one, ScoreRequest)
        ]
        if not questions:
            return tool
        results = await facts.desk.answers(http, questions, Scores)


def _sent(
    steps: Generator[Sequence[Ask], Sequence[Result], Tool | None],
    results: Sequence[Result] | None,
) -> tuple[Sequence[Ask], Tool | None]:
    """What is asked next; nothing at the end, and what has come out."""
    try:
        return (next(steps) if results is None else steps.send(results)), None
    except StopIteration as stop:
        return (), stop.value
