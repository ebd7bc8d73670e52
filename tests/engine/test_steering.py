"""A constrained answer ends legally within any budget that can hold one, and does not loop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from engine_helpers import answer, answers, ask, small_options

from vedette.engine.core import EngineCore
from vedette.engine.loops import LoopDetector, repeated_tail
from vedette.errors import BudgetTooSmall
from vedette.types import Constraint, Message, Prompt, Sampling

TREE = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/pair"}]}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "number", "maximum": 1e9},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"type": "integer"}, "minItems": 4},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 5},
            "kind": {"enum": ["alpha beta gamma delta", "x", "none of these"]},
            "size": {"type": "number", "minimum": 10.5},
            "day": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
        "required": ["name", "kind", "size", "day"],
    },
    {
        "$ref": "#/$defs/pair",
        "$defs": {
            "pair": {
                "type": "object",
                "properties": {"left": TREE, "right": TREE, "note": {"type": "string"}},
                "required": ["left", "right"],
            }
        },
    },
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {f"field_{i}": {"type": "string"} for i in range(12)},
            "required": [f"field_{i}" for i in range(12)],
        },
    },
]


@pytest.fixture(scope="module")
def engine(tiny_full: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_full, small_options(cells=8192)) as engine:
        yield engine


def json_schema(schema: object) -> Constraint:
    return Constraint("json_schema", json.dumps(schema))


def least_of(engine: EngineCore, constraint: Constraint) -> int:
    """What the refusal of a hopeless budget says; 1 if there is no hopeless one."""
    try:
        answer(engine, ask("x", constraint=constraint, max_tokens=1))
    except BudgetTooSmall as error:
        return int(error.message.split("an answer needs ")[1].split()[0])
    return 1


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: json.dumps(s)[:40])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_budget_from_the_least_on_ends_legally(
    engine: EngineCore, schema: dict[str, Any], temperature: float
) -> None:
    constraint = json_schema(schema)
    least = least_of(engine, constraint)
    budgets = [*range(least, least + 12), *range(least + 12, least + 160, 13)]
    requests = [
        ask(
            f"text {n}",
            constraint=constraint,
            max_tokens=n,
            sampling=Sampling(temperature=temperature, seed=n),
        )
        for n in budgets
    ]
    for n, completion in zip(budgets, answers(engine, requests), strict=True):
        jsonschema_rs.validate(schema, json.loads(completion.text))
        assert completion.usage.completion_tokens <= n
        if completion.finish_reason == "length":
            assert completion.cut == "budget"


def test_a_budget_below_the_least_is_refused_at_once_with_the_least(engine: EngineCore) -> None:
    constraint = json_schema(SCHEMAS[5])
    least = least_of(engine, constraint)
    assert least > 30
    with pytest.raises(BudgetTooSmall, match=f"an answer needs {least} tokens at least"):
        engine.submit(ask("x", constraint=constraint, max_tokens=least - 1))


@pytest.mark.parametrize("use_forced", [True, False])
def test_budgets_hold_on_every_kind_of_memory(tiny_any: Path, use_forced: bool) -> None:
    constraint = json_schema(SCHEMAS[5])
    with EngineCore(tiny_any, small_options(use_forced=use_forced)) as engine:
        least = least_of(engine, constraint)
        requests = [
            ask("x", constraint=constraint, max_tokens=n) for n in range(least, least + 40, 5)
        ]
        for completion in answers(engine, requests):
            jsonschema_rs.validate(SCHEMAS[5], json.loads(completion.text))


# Loops


def test_a_string_that_goes_round_in_circles_is_ended_and_told(engine: EngineCore) -> None:
    def repeating(word: str) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^({word})+$", "maxLength": 3000}

    asked = [(repeating(word), prompt) for word in ("7", "a", "%", "the") for prompt in ("x", "##")]
    completions = answers(
        engine, [ask(text, constraint=json_schema(s), max_tokens=1200) for s, text in asked]
    )
    assert any(completion.cut == "loop" for completion in completions)
    for (schema, _), completion in zip(asked, completions, strict=True):
        jsonschema_rs.validate(schema, json.loads(completion.text))
        assert completion.usage.completion_tokens < 200


@pytest.mark.parametrize(
    ("tokens", "tail"),
    [
        ([7] * 48, 48),
        ([7] * 47, 0),
        ([1, 2, 3, 4] * 12, 48),
        ([9, *[1, 2, 3, 4] * 12], 48),
        ([*[1, 2, 3, 4] * 12, 9], 0),
        (list(range(32)) * 6, 192),
        (list(range(32)) * 5, 0),
        (list(range(200)), 0),
        ([], 0),
    ],
)
def test_a_loop_is_the_same_often_enough_and_long_enough(tokens: list[int], tail: int) -> None:
    assert repeated_tail(tokens) == tail


def test_a_loop_is_told_once_and_again_when_it_goes_on() -> None:
    loops = LoopDetector(Prompt(messages=(Message("user", "hello"),)))
    told = [loops.finds([5] * n, lambda n=n: "a" * n) for n in range(1, 120)]
    assert [n for n, found in enumerate(told, start=1) if found] == [48, 96]


def test_what_the_prompt_repeats_may_be_repeated() -> None:
    loops = LoopDetector(Prompt(messages=(Message("user", "-" * 80),)))
    assert not loops.finds([5] * 50, lambda: "-" * 50)
    assert loops.finds([5] * 100, lambda: "ab" * 50)


def test_ways_to_the_end_are_found_in_several_threads_at_once(engine: EngineCore) -> None:
    compiler = engine.compiler
    sought = [json_schema(schema) for schema in (SCHEMAS[5], SCHEMAS[7])]
    alone = [compiler.matcher(wanted).ending(4096) for wanted in sought]

    def look(wanted: Constraint) -> set[tuple[int, ...] | None]:
        return {compiler.matcher(wanted).ending(4096) for _ in range(40)}

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(look, sought * 2)]
    assert found == [{way} for way in alone * 2]
