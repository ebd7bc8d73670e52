"""Text to calls of tools: which one is scored, with 'none of them' among the choices."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import jsonschema_rs
import orjson

from vedette.backends.base import Backend, Result
from vedette.decide.closed import Decision, decide, mean_prior
from vedette.engine.constraint.grounded import reads_input
from vedette.errors import CapabilityMissing, ConstraintFailed, InputError
from vedette.types import (
    Answer,
    Completion,
    Constraint,
    Item,
    Json,
    Message,
    Prompt,
    Request,
    ScoreRequest,
    Scores,
    Usage,
)

from .base import Ask, Steps
from .budget import answer_tokens, check_at_least_1
from .prompt_data import fill, load_prompt, prompt_of, text_of, with_instructions
from .reply import check_room, completion_of, cut_of, json_of, scores_of
from .tool_defs import Tool, call_schema

# The first of these that is no tool's name stands for 'none of them'.
NONE_LABELS = ("none", "no_function", "nothing")
CALL_ABOVE = 0.5
PRIORS = ("content-free", "none")


@dataclass(frozen=True)
class CallTools:
    """Implements `Task`: `{"calls": [{"name": ..., "arguments": {...}}]}` for each text.

    First the names of the tools and a label for 'none of them' are scored. If the tools together
    get more than `call_above` (a probability), the likeliest is called, with arguments that are
    written under its schema; otherwise the list is empty. `required` leaves 'none of them' out.
    `prior` divides out what the model prefers before it has read anything, measured once on texts
    that say nothing (`content-free`), after which such a text asks for some tool by even odds;
    `none` leaves the scores as they are.
    With `parallel` N over 1, the calls are one array of 1 to N, any tool in each. `max_tokens`
    None takes what the schemas' bounds can come to need. Raises `InputError` for numbers out of
    range.
    """

    tools: tuple[Tool, ...]
    parallel: int = 1
    required: bool = False
    call_above: float = CALL_ABOVE
    prior: str = "content-free"
    instructions: str = ""
    max_tokens: int | None = None
    name: str = field(default="tool", init=False)

    def __post_init__(self) -> None:
        if not self.tools:
            raise InputError("the list of tools is empty", hint="give at least one definition")
        check_at_least_1("parallel", self.parallel)
        if not 0 <= self.call_above < 1:
            raise InputError(f"call_above is {self.call_above}; it must be in [0, 1)")
        check_at_least_1("max_tokens", self.max_tokens)
        if self.prior not in PRIORS:
            raise InputError(f"prior must be one of {', '.join(PRIORS)}, not {self.prior!r}")

    @property
    def none_label(self) -> str:
        """What 'none of them' is called in the prompt."""
        names = {tool.name for tool in self.tools}
        label = next((label for label in NONE_LABELS if label not in names), None)
        if label is None:
            raise InputError(f"the tools take all of the names {', '.join(NONE_LABELS)}")
        return label

    @property
    def choices(self) -> tuple[str, ...]:
        """What is scored."""
        names = tuple(tool.name for tool in self.tools)
        return names if self.required else (*names, self.none_label)

    @property
    def is_open(self) -> bool:
        """Whether there is anything to be scored before the arguments."""
        return not self.required or (self.parallel == 1 and len(self.tools) > 1)

    @cached_property
    def _choosing(self) -> str:
        listing = "\n".join(f"- {tool.summary}" for tool in self.tools)
        if self.required:
            text = fill(text_of("tool", "choose_required"), tools=listing)
        else:
            text = fill(text_of("tool", "choose"), tools=listing, none=self.none_label)
        return with_instructions(text, self.instructions)

    def _calling(self, tool: Tool) -> str:
        text = fill(text_of("tool", "arguments"), tool=tool.manual)
        return with_instructions(text, self.instructions)

    @cached_property
    def _calling_several(self) -> str:
        listing = "\n".join(tool.manual for tool in self.tools)
        text = fill(text_of("tool", "several"), tools=listing)
        return with_instructions(text, self.instructions)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        one = [self._calling(tool) for tool in self.tools]
        return {
            "tools": [[tool.name, orjson.dumps(tool.parameters).decode()] for tool in self.tools],
            "prompt": [
                *([self._choosing] if self.is_open else []),
                *([self._calling_several] if self.parallel > 1 else one),
            ],
            "parameters": {
                "parallel": self.parallel,
                "required": self.required,
                "call_above": self.call_above,
                "prior": [*self._texts_without_content],
                "max_tokens": self.max_tokens,
            },
        }

    def question(self, text: str) -> ScoreRequest:
        """Which tool, if any."""
        return self._question([Message("user", text)])

    def _question(self, turns: Sequence[Message]) -> ScoreRequest:
        messages = (Message("system", self._choosing), *turns)
        return ScoreRequest(
            prompt=Prompt(messages=messages, shared_messages=1), choices=self.choices
        )

    def tool_for(
        self, turns: Sequence[Message], backend: Backend
    ) -> Generator[Sequence[Ask], Sequence[Result], Tool | None]:
        """Steps to the tool that the last of these turns asks for; None for none of them."""
        decision, _ = yield from self._decided(self._question(turns), backend)
        return None if self.is_none(decision) else self._likeliest(decision)

    @property
    def _texts_without_content(self) -> list[str]:
        return [*load_prompt("tool")["content_free"]] if self.prior != "none" else []

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[float]]:
        """Measured once for each backend of this process."""
        return WeakKeyDictionary()

    def _decided(
        self, question: ScoreRequest, backend: Backend
    ) -> Generator[Sequence[Ask], Sequence[Result], tuple[Decision, Usage]]:
        check_room(question.prompt, 1, backend)
        known = self._priors.get(backend)
        free = [] if known else self._texts_without_content
        results = yield [question, *map(self.question, free)]
        scores = [scores_of(result) for result in results]
        if free:
            known = self._priors[backend] = self._prior(scores[1:])
        return decide(self.choices, scores[0].logprobs, known), scores[0].usage

    def _prior(self, scores: Sequence[Scores]) -> list[float]:
        """What is divided out, so that a text that says nothing asks for some tool by even odds."""
        prior = mean_prior([one.logprobs for one in scores])
        if not self.required:
            prior[-1] -= math.log(len(self.tools))
        return prior

    def request(self, text: str, tool: Tool, n_tokens: int) -> Request:
        """The arguments of one tool, for a text of `n_tokens` tokens."""
        return self._request(self._calling(tool), text, dict(tool.parameters), n_tokens)

    def request_several(self, text: str, n_tokens: int) -> Request:
        """An array of calls."""
        schema = call_schema(self.tools, self.parallel)
        return self._request(self._calling_several, text, schema, n_tokens)

    def _request(self, system: str, text: str, schema: dict[str, Any], n_tokens: int) -> Request:
        source = orjson.dumps(schema).decode()
        return Request(
            prompt=prompt_of(system, text),
            constraint=Constraint("json_schema", source, text if reads_input(schema) else ""),
            max_tokens=self.max_tokens or answer_tokens(schema, n_tokens),
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        capabilities = backend.capabilities
        if not capabilities.can_constrain or (self.is_open and not capabilities.can_score):
            raise CapabilityMissing("tool needs a backend that can constrain and score")
        if not item.text.strip():
            return Answer(value={"calls": []}, extra={"empty": True})
        usage, extra = Usage(), {}
        tool = self.tools[0]
        if self.is_open:
            decision, usage = yield from self._decided(self.question(item.text), backend)
            extra = self._extra(decision)
            if self.is_none(decision):
                return Answer(value={"calls": []}, usage=usage, extra=extra)
            tool = self._likeliest(decision)
        n_tokens = backend.count_tokens(item.text)
        if self.parallel > 1:
            request = self.request_several(item.text, n_tokens)
        else:
            request = self.request(item.text, tool, n_tokens)
        check_room(request.prompt, request.max_tokens, backend)
        (result,) = yield [request]
        completion = completion_of(result)
        return Answer(
            value={"calls": self._calls(completion, tool)},
            usage=usage + completion.usage,
            extra={**extra, **cut_of(completion)},
        )

    def is_none(self, decision: Decision) -> bool:
        """Whether the scores say that no tool is to be called."""
        if self.required:
            return False
        return 1 - decision.probabilities[-1] <= self.call_above

    def _likeliest(self, decision: Decision) -> Tool:
        return self.tools[next(i for i in decision.order if i < len(self.tools))]

    def _extra(self, decision: Decision) -> dict[str, Json]:
        """Probabilities of the tools, and of none of them, which sum to 1 together."""
        n = len(self.tools)
        names, each = decision.choices[:n], decision.probabilities[:n]
        extra: dict[str, Json] = {
            "probabilities": {name: round(p, 4) for name, p in zip(names, each, strict=True)}
        }
        if not self.required:
            extra["none_probability"] = round(decision.probabilities[-1], 4)
        return {**extra, "mass": round(decision.mass, 4)}

    def _calls(self, completion: Completion, tool: Tool) -> list[Json]:
        """The calls of a reply, each held against its tool's schema once more."""
        value = json_of(completion)
        if self.parallel == 1:
            value = [{"name": tool.name, "arguments": value}]
        if not isinstance(value, list):
            raise ConstraintFailed(f"the answer is not a list of calls: {completion.text[:80]}")
        for call in value:
            fault = self._fault(call)
            if fault is not None:
                raise ConstraintFailed(f"a call does not fit its tool: {fault}")
        return value

    def _fault(self, call: Json) -> str | None:
        if not isinstance(call, dict) or call.get("name") not in self._validators:
            return "it names no tool"
        validator = self._validators[str(call["name"])]
        fault = next(validator.iter_errors(call.get("arguments")), None)
        return fault.message if fault else None

    @cached_property
    def _validators(self) -> dict[str, jsonschema_rs.Validator]:
        return {
            tool.name: jsonschema_rs.validator_for(dict(tool.parameters), validate_formats=True)
            for tool in self.tools
        }
