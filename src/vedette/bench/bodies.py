"""Vedette's requests as a llama-server understands them: the same text, the same bounds."""

from __future__ import annotations

import orjson

from vedette.backends.choice_grammar import choice_grammar
from vedette.engine.constraint.grounded import ground
from vedette.errors import InputError
from vedette.types import Constraint, Json, Prompt, Request, ScoreRequest

from .keywords import plain_schema

OWN_KEYWORDS = ("x-verbatim", "x-one-of-input", "x-evidence")
LABEL_END_TOKENS = 4  # room after a label for its end


def chat_messages(prompt: Prompt) -> list[Json]:
    """The messages of a prompt. Raises `InputError` for raw text, which is no chat."""
    if prompt.raw is not None:
        raise InputError("raw prompts cannot be measured: a chat endpoint takes messages only")
    messages: list[Json] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if prompt.prefill:
        messages.append({"role": "assistant", "content": prompt.prefill})
    return messages


def text_body(request: Request, *, grounded: bool = False) -> bytes:
    """A request for text, under its JSON Schema if it has one, without vedette's keywords.

    `grounded` has what they say of this input put into the schema where plain JSON Schema can say
    it too. Raises `InputError` for other constraints.
    """
    body = _chat(request.prompt, request.max_tokens)
    if request.constraint is not None:
        schema = answer_schema(request.constraint, grounded=grounded)
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }
    return orjson.dumps(body)


def answer_schema(constraint: Constraint, *, grounded: bool = False) -> dict[str, Json]:
    """The schema of a constraint for those who know no keyword of vedette's."""
    if constraint.kind != "json_schema":
        raise InputError(f"a {constraint.kind} constraint cannot be measured yet")
    schema = orjson.loads(constraint.source)
    return plain_schema(ground(schema, constraint.input) if grounded else schema)


def label_body(request: ScoreRequest) -> bytes:
    """A closed question, its choices as the alternatives of a grammar, which ends the answer."""
    longest = max(len(choice.encode()) for choice in request.choices)  # no more tokens than bytes
    body = _chat(request.prompt, longest + LABEL_END_TOKENS)
    body["grammar"] = choice_grammar(request.choices)
    return orjson.dumps(body)


def _chat(prompt: Prompt, max_tokens: int) -> dict[str, Json]:
    return {
        "messages": chat_messages(prompt),
        "max_tokens": max_tokens,
        "temperature": 0,
        "cache_prompt": True,
        # Templates that can think do not: vedette's own prompts have it off too.
        "chat_template_kwargs": {"enable_thinking": False},
    }
