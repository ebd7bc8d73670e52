"""A thought comes first, free; the constraint holds from its end on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest
from engine_helpers import answer, chat, small_options

from vedette.engine.core import EngineCore
from vedette.engine.template import ChatTemplate
from vedette.engine.thinking import Thinking, limit_of
from vedette.errors import InputError
from vedette.types import Constraint, Message, Prompt, Request

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)
OPENED = "{% for m in messages %}{{ m.content }}\n{% endfor %}<think>\n{# </think> #}"
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@pytest.fixture(scope="module")
def engine(tiny_full: Path) -> Iterator[EngineCore]:
    """A model whose template knows of thoughts."""
    with EngineCore(tiny_full, small_options()) as engine:
        engine.tokenizer._template = ChatTemplate(TEMPLATE)
        yield engine


def ask(**fields: object) -> Request:
    constraint = Constraint("json_schema", json.dumps(SCHEMA))
    return Request(prompt=chat("is it?"), constraint=constraint, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("logprobs", [False, True])
def test_a_thought_is_closed_in_time_and_the_answer_is_constrained(
    engine: EngineCore, logprobs: bool
) -> None:
    completion = answer(engine, ask(think=12, max_tokens=20, logprobs=logprobs))
    jsonschema_rs.validate(SCHEMA, json.loads(completion.text))
    assert completion.thought
    assert completion.thought not in completion.text
    closing = len(engine.tokenizer.end_of_thought())
    assert completion.usage.completion_tokens > 12 + closing
    if logprobs:
        assert len(completion.logprobs) == completion.usage.completion_tokens


def test_the_budget_of_the_answer_counts_from_the_end_of_the_thought(engine: EngineCore) -> None:
    short = answer(engine, ask(think="off", max_tokens=9))
    thoughtful = answer(engine, ask(think=40, max_tokens=9))
    for completion in (short, thoughtful):
        jsonschema_rs.validate(SCHEMA, json.loads(completion.text))
    assert short.thought == ""


def test_off_asks_the_template_for_an_answer_without_a_thought() -> None:
    prompt = Prompt(messages=(Message("user", "hi"),))
    template = ChatTemplate(TEMPLATE)
    assert template.render(prompt).endswith("<think>\n\n</think>\n\n")
    assert "".join(s.text for s in template.segments(prompt, think=True)).endswith("assistant\n")


def test_off_closes_what_a_template_opens_whatever_is_asked() -> None:
    prompt = Prompt(messages=(Message("user", "hi"),))
    template = ChatTemplate(OPENED)
    assert template.render(prompt).endswith("<think>\n\n</think>\n\n")
    assert "".join(s.text for s in template.segments(prompt, think=True)).endswith("<think>\n")


def test_the_end_of_a_thought_is_seen_however_it_is_split() -> None:
    for split in range(1, 8):
        thinking = Thinking(100, ())
        assert not thinking.ends_with(b"<think>\nso be it</think>"[: -9 + split])
        assert thinking.ends_with(b"<think>\nso be it</think>"[-9 + split :] + b"\n")
        assert thinking.text == "so be it"


@pytest.mark.parametrize("think", [0, -1, "on", True, 1.5])
def test_a_thought_of_no_length_is_refused(think: object) -> None:
    with pytest.raises(InputError, match="off, free, or a number"):
        limit_of(think)  # type: ignore[arg-type]


def test_a_model_without_thoughts_is_not_asked_for_one(tiny_full: Path) -> None:
    with EngineCore(tiny_full, small_options()) as engine:
        with pytest.raises(InputError, match="knows no thoughts"):
            engine.submit(ask(think="free"))
        raw = Request(prompt=Prompt(raw="x"), think=5)
        with pytest.raises(InputError, match="think goes with messages"):
            engine.submit(raw)
