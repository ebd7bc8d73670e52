"""What other engines get wrong, each with its right outcome here.

One test for each known complaint about constrained output elsewhere: grammars that fail open,
keywords that are lost without a word, answers that run away or are cut, engines that die.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from engine_helpers import answers, ask, chat, small_options

from vedette.engine.core import EngineCore
from vedette.engine.template import ChatTemplate
from vedette.errors import BudgetTooSmall, InputError
from vedette.tasks.generate import Generate
from vedette.types import Completion, Constraint, Request, Sampling

N_ANSWERS = 4


@pytest.fixture(scope="module")
def engine(tiny_full: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_full, small_options(cells=8192)) as engine:
        yield engine


def json_schema(schema: object) -> Constraint:
    return Constraint("json_schema", json.dumps(schema))


def some(engine: EngineCore, constraint: Constraint, max_tokens: int = 300) -> list[Completion]:
    """A greedy answer and some at random."""
    requests = [
        ask(
            f"{i} ",
            constraint=constraint,
            max_tokens=max_tokens,
            sampling=Sampling(temperature=float(i > 0), seed=i),
        )
        for i in range(N_ANSWERS)
    ]
    return answers(engine, requests)


def values(engine: EngineCore, schema: Any, max_tokens: int = 300) -> list[Any]:
    """Valid answers, parsed."""
    found = [json.loads(c.text) for c in some(engine, json_schema(schema), max_tokens)]
    for value in found:
        jsonschema_rs.validate(schema, value)
    return found


def can_write(engine: EngineCore, constraint: Constraint, text: str) -> bool:
    """Whether the grammar lets a model write exactly this."""
    return engine.compiler.matcher(constraint).is_whole(text)


def an_object(required: list[str], **properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def test_a_needless_escape_in_a_pattern_is_no_way_out(engine: EngineCore) -> None:
    assert values(engine, {"type": "string", "pattern": "^a\\!$"}) == ["a!"] * N_ANSWERS


def test_class_escapes_mean_what_they_say(engine: EngineCore) -> None:
    pattern = "^\\d{4}-\\w+$"
    for value in values(engine, {"type": "string", "pattern": pattern}):
        assert re.fullmatch(r"[0-9]{4}-[A-Za-z0-9_]+", value)


def test_bounds_around_two_thousand_hold(engine: EngineCore) -> None:
    item = an_object(["s"], s={"type": "string", "maxLength": 2000})
    values(engine, {"type": "array", "items": item, "maxItems": 50})
    exact = json_schema({"type": "string", "minLength": 2500, "maxLength": 2500})
    assert can_write(engine, exact, json.dumps("a" * 2500))
    assert not can_write(engine, exact, json.dumps("a" * 2501))
    gbnf = Constraint("gbnf", 'root ::= "a"{2500}')
    assert can_write(engine, gbnf, "a" * 2500)
    assert not can_write(engine, gbnf, "a" * 2499)


def test_a_grammar_is_followed_from_its_first_token_on(engine: EngineCore) -> None:
    for completion in some(engine, Constraint("gbnf", 'root ::= "{" [a-z]* "}"')):
        assert re.fullmatch(r"\{[a-z]*\}", completion.text)


def test_thinking_and_a_schema_go_together(tiny_full: Path) -> None:
    schema = an_object(["a"], a={"type": "integer"})
    with EngineCore(tiny_full, small_options()) as engine:
        engine.tokenizer._template = ChatTemplate(
            "{% for m in messages %}{{ m.content }}\n{% endfor %}"
            "{% if enable_thinking %}<think>\n{% else %}<think>\n\n</think>\n\n{% endif %}"
        )
        for think in ("off", 5, 30):
            request = Request(prompt=chat("how many?"), constraint=json_schema(schema), think=think)  # type: ignore[arg-type]
            (completion,) = answers(engine, [request])
            jsonschema_rs.validate(schema, json.loads(completion.text))
            assert bool(completion.thought) == (think != "off")


def test_whitespace_cannot_run_away(engine: EngineCore) -> None:
    schema = an_object(["kind"], kind={"enum": ["x", "y"]})
    for completion in some(engine, json_schema(schema), 40):
        assert completion.text in ('{"kind": "x"}', '{"kind": "y"}')
        assert completion.cut is None


def test_free_strings_come_to_an_end(engine: EngineCore) -> None:
    schema = an_object(["a", "b"], a={"type": "string"}, b={"type": "string"})
    for value in values(engine, schema, 2000):
        assert max(map(len, value.values())) <= 256


def test_arrays_can_have_items(engine: EngineCore) -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    assert can_write(engine, json_schema(schema), '["a", "b", "c", "d", "e"]')
    assert any(values(engine, schema))


@pytest.mark.parametrize("text", ["a", "abcd"])
@pytest.mark.parametrize("wrong", ["", "abcde", "A", "ab1"])
def test_a_pattern_and_a_length_both_hold(engine: EngineCore, text: str, wrong: str) -> None:
    schema = {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4}
    values(engine, schema)
    assert can_write(engine, json_schema(schema), json.dumps(text))
    assert not can_write(engine, json_schema(schema), json.dumps(wrong))


def test_a_required_name_that_no_property_declares_is_written(engine: EngineCore) -> None:
    assert all("a" in value for value in values(engine, {"type": "object", "required": ["a"]}))


def test_keys_come_in_the_order_in_which_they_are_declared(engine: EngineCore) -> None:
    schema = an_object(
        ["zeta"], end={"type": "null"}, start={"type": "null"}, zeta={"type": "null"}
    )
    for value in values(engine, schema):
        assert list(value) == [name for name in ("end", "start", "zeta") if name in value]


def test_optional_properties_can_be_left_out_and_given(engine: EngineCore) -> None:
    schema = an_object(["q"], q={"type": "string"}, n={"type": "integer"})
    for text in ('{"q": "x"}', '{"q": "x", "n": 3}'):
        assert can_write(engine, json_schema(schema), text)
    assert not can_write(engine, json_schema(schema), '{"n": 3}')


def test_references_are_followed(engine: EngineCore) -> None:
    schema = {
        "$defs": {"C": {"enum": ["r", "g"]}},
        "type": "array",
        "items": {"$ref": "#/$defs/C"},
        "minItems": 1,
        "maxItems": 4,
    }
    assert all(set(value) <= {"r", "g"} for value in values(engine, schema))


@pytest.mark.parametrize("max_tokens", [2, 10, 20])
def test_a_budget_cuts_no_json(engine: EngineCore, max_tokens: int) -> None:
    schema = an_object(["text"], text={"type": "string"})
    if max_tokens < 9:
        with pytest.raises(BudgetTooSmall, match="an answer needs"):
            values(engine, schema, max_tokens)
    else:
        values(engine, schema, max_tokens)


def test_no_schema_ends_the_engine(engine: EngineCore) -> None:
    nested: dict[str, Any] = {"type": "null"}
    for _ in range(12):
        nested = {"oneOf": [an_object(["a"], a=nested), {"type": "integer"}]}
    values(engine, nested)
    with pytest.raises(InputError):
        some(engine, Constraint("lark", 'start: a\na: "x"\na: "y"'))
    some(engine, Constraint("gbnf", 'root ::= "x"\nroot ::= "y"'))
    assert answers(engine, [ask("still here", max_tokens=2)])[0].text


def test_an_enum_with_null_beside_a_list_of_types(engine: EngineCore) -> None:
    schema = {"type": ["string", "null"], "enum": ["a", None]}
    constraint = json_schema(schema)
    assert [can_write(engine, constraint, text) for text in ('"a"', "null", '"b"')] == [1, 1, 0]
    values(engine, schema)


def test_an_enum_beyond_the_basic_plane_can_be_written(engine: EngineCore) -> None:
    assert values(engine, {"enum": ["\U0001f600"]}) == ["\U0001f600"] * N_ANSWERS


def test_a_large_grammar_is_compiled_once(engine: EngineCore) -> None:
    schema = json_schema({"enum": [f"value number {i}" for i in range(3000)]})
    first = engine.compiler.matcher(schema)
    second = engine.compiler.matcher(schema)
    assert first._compiled is second._compiled
    some(engine, schema)


def test_the_model_is_shown_the_schema() -> None:
    schema = an_object(["colour"], colour={"enum": ["red", "green"], "description": "of the fruit"})
    task = Generate(constraint=json_schema(schema))
    for part in ("colour", "red", "green", "of the fruit"):
        assert part in task.system
    assert Generate(constraint=json_schema(schema), prompt_schema=False).system == ""


def test_pattern_properties_hold_for_names_and_values(engine: EngineCore) -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^n_[a-z]{1,3}$": {"type": "integer", "minimum": 0, "maximum": 9}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 2,
    }
    for value in values(engine, schema):
        assert all(re.fullmatch("n_[a-z]{1,3}", name) for name in value)


def test_a_choice_among_permutations_is_one_of_them(engine: EngineCore) -> None:
    options = [" ".join(order) for order in permutations(["one", "two", "three"])]
    for completion in some(engine, Constraint("choice", json.dumps(options))):
        assert completion.text in options
