"""What the fuzz found: each once ended the process, hung, or left as an error of another kind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vedette.engine.constraint import Compiler, Matcher
from vedette.engine.llama.model import Model
from vedette.errors import ConstraintFailed, InputError, SchemaError
from vedette.types import Constraint


class Machine:
    """A compiler, and whether a whole text is one of a constraint's."""

    def __init__(self, path: Path) -> None:
        self.model = Model(path)
        self.compiler = Compiler(self.model)

    def matcher(self, kind: Any, source: object) -> Matcher:
        text = source if isinstance(source, str) else json.dumps(source)
        return self.compiler.matcher(Constraint(kind, text))

    def accepts(self, source: object, text: str, kind: str = "json_schema") -> bool:
        matcher = self.matcher(kind, source)
        try:
            for token in self.model.tokenize(text):
                matcher.accept(token)
        except ConstraintFailed:
            return False
        return matcher.may_end and matcher.fault_of(text) is None


@pytest.fixture(scope="module")
def machine(tiny_full: Path) -> Iterator[Machine]:
    machine = Machine(tiny_full)
    yield machine
    machine.model.close()


# Numbers beyond 64 bits


@pytest.mark.parametrize("count", ["18446744073709551616", "1e30", "1e300", "4294967296.0"])
@pytest.mark.parametrize(
    ("most", "text"),
    [
        ('{"type":"string","maxLength":%s}', '"abc"'),
        ('{"type":"array","items":{"type":"null"},"maxItems":%s}', "[null]"),
        ('{"type":"object","maxProperties":%s}', '{"a": 1}'),
        ('{"type":"array","contains":{"const":1},"maxContains":%s}', "[1]"),
    ],
)
def test_a_count_that_no_answer_reaches_is_no_limit(
    machine: Machine, most: str, text: str, count: str
) -> None:
    assert machine.accepts(most % count, text)


@pytest.mark.parametrize("count", ["2147483648", "18446744073709551616", "1e300"])
@pytest.mark.parametrize(
    ("least", "text"),
    [
        ('{"type":"string","minLength":%s}', '"abc"'),
        ('{"type":"array","items":{"type":"null"},"minItems":%s}', "[null]"),
        ('{"type":"object","minProperties":%s}', '{"a": 1}'),
        ('{"type":"array","contains":{"const":1},"minContains":%s}', "[1]"),
    ],
)
def test_a_count_that_no_answer_reaches_is_not_reached(
    machine: Machine, least: str, text: str, count: str
) -> None:
    assert not machine.accepts(least % count, text)


@pytest.mark.parametrize("divisor", ["1e300", "18446744073709551616", "1e-300"])
def test_a_divisor_beyond_the_grammar_is_checked_on_the_answer(
    machine: Machine, divisor: str
) -> None:
    schema = f'{{"type":"number","multipleOf":{divisor}}}'
    report = machine.matcher("json_schema", schema).report
    assert report is not None
    assert [keyword.keyword for keyword in report.of("checked")] == ["multipleOf"]
    assert machine.accepts(schema, "0")


@pytest.mark.parametrize("value", ["18446744073709551616", "1e300", "-1e30", '{"a": 1e40}'])
def test_listed_numbers_can_be_beyond_64_bits(machine: Machine, value: str) -> None:
    assert machine.accepts(f'{{"enum":[{value},"x"]}}', '"x"')
    assert not machine.accepts(f'{{"enum":[{value},"x"]}}', '"y"')


@pytest.mark.parametrize("value", [-(2**63), -(2**63) + 1, -(2**63) + 1024, 2**63 - 1, 2**64 - 1])
def test_integers_at_the_end_of_64_bits_end_nothing_else(machine: Machine, value: int) -> None:
    assert machine.accepts({"enum": [value, "x"]}, '"x"')
    machine.matcher("json_schema", {"type": "integer", "minimum": value, "maximum": value})


@pytest.mark.parametrize("number", ["-9223372036854775808", "-9223372036854775807", "-1e30"])
@pytest.mark.parametrize(
    "lark",
    [
        'start: %%json {"const":%s}',
        'start: "a" b\nb: %%json   {"anyOf":[{"type":"integer","minimum":%s}]}',
    ],
)
def test_a_schema_in_lark_that_would_end_the_process_is_refused(
    machine: Machine, lark: str, number: str
) -> None:
    with pytest.raises(InputError, match="the least is -9223372036854774784"):
        machine.matcher("lark", lark % number)
    assert machine.accepts('start: "%json" | %json {"const":-5}', "-5", "lark")


# Choices that multiply


def test_a_count_of_many_optional_properties_is_checked(machine: Machine) -> None:
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"type": "null"} for n in range(60)},
        "additionalProperties": False,
        "minProperties": 20,
    }
    report = machine.matcher("json_schema", schema).report
    assert report is not None
    assert [keyword.keyword for keyword in report.of("checked")] == ["minProperties"]
    assert not machine.accepts(schema, '{"p0": null}')


def circle(size: int) -> dict[str, Any]:
    refs = [{"$ref": f"#/$defs/d{(n + 1) % size}"} for n in range(size)]
    return {
        "$defs": {f"d{n}": {"allOf": [ref, ref]} for n, ref in enumerate(refs)},
        "$ref": "#/$defs/d0",
    }


def doubled(levels: int) -> dict[str, Any]:
    defs: dict[str, Any] = {"d0": {"type": "integer", "minimum": 3}}
    for n in range(1, levels):
        defs[f"d{n}"] = {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2}
    return {"$defs": defs, "$ref": f"#/$defs/d{levels - 1}"}


@pytest.mark.parametrize("schema", [circle(50), doubled(40)])
def test_references_that_double_at_each_level_are_refused(
    machine: Machine, schema: dict[str, Any]
) -> None:
    with pytest.raises(SchemaError, match="20,000 subschemas for a single value"):
        machine.matcher("json_schema", schema)


def test_references_that_are_used_a_few_times_are_not(machine: Machine) -> None:
    assert machine.accepts(doubled(10), "3")
    assert not machine.accepts(doubled(10), "2")
    tree = {
        "$defs": {
            "t": {"type": "object", "properties": {k: {"$ref": "#/$defs/t"} for k in "abcdefgh"}}
        },
        "$ref": "#/$defs/t",
    }
    assert machine.accepts(tree, '{"a": {"h": {}}}')


def test_alternatives_that_double_at_each_level_leave_the_grammar(machine: Machine) -> None:
    schema: dict[str, Any] = {"type": "string", "minLength": 1}
    for level in range(8):
        other = {"type": "object", "properties": {f"k{level}": schema}, "required": [f"k{level}"]}
        schema = {"oneOf": [schema, other]}
    assert machine.accepts(schema, '{"k7": "a"}')
    assert not machine.accepts(schema, '{"k7": 1}')


def test_a_choice_of_very_many_alternatives_is_checked(machine: Machine) -> None:
    names = [f"p{n}" for n in range(300)]
    schema = {"oneOf": [{"type": "object", "required": [name]} for name in names]}
    report = machine.matcher("json_schema", schema).report
    assert report is not None
    assert {keyword.keyword for keyword in report.of("checked")} == {"oneOf"}
    assert machine.accepts(schema, '{"p7": 1}')
    assert not machine.accepts(schema, '{"p7": 1, "p8": 1}')


@pytest.mark.parametrize(("keyword", "levels"), [("allOf", 200), ("anyOf", 300), ("oneOf", 300)])
def test_what_is_nested_too_deeply_is_refused(machine: Machine, keyword: str, levels: int) -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {keyword: [schema, {"type": "null"}][: 1 if keyword == "allOf" else 2]}
    with pytest.raises(SchemaError, match=r"nested too deeply|too involved"):
        machine.matcher("json_schema", schema)


# Texts and sizes


@pytest.mark.parametrize("kind", ["regex", "lark", "gbnf", "choice", "json_schema"])
def test_half_a_surrogate_pair_is_refused_with_its_place(machine: Machine, kind: str) -> None:
    with pytest.raises(InputError, match="half of a surrogate pair at character 2"):
        machine.matcher(kind, "a\ud800")


def test_bytes_that_are_no_text_are_no_answer(machine: Machine) -> None:
    anything_else = machine.matcher("lark", "start: ~/.*/")  # a newline, or a broken character
    assert anything_else.fault_of("a\nb") is None
    with pytest.raises(ConstraintFailed, match="bytes that are no text"):
        anything_else.fault_of("a\ufffd")
    assert machine.matcher("regex", "a.").fault_of("a\ufffd") is None


def test_a_gbnf_with_many_optional_parts_is_followed(machine: Machine) -> None:
    assert machine.accepts("root ::= " + '"a"? ' * 600, "aaa", "gbnf")
    assert not machine.accepts("root ::= " + '"a"? ' * 600, "aab", "gbnf")


@pytest.mark.parametrize(
    "source", ['root ::= "' + "ab" * 20_001 + '"', "root ::= " + "[a-z] " * 14_000]
)
def test_a_gbnf_that_is_too_large_is_refused_with_its_size(machine: Machine, source: str) -> None:
    with pytest.raises(InputError, match=r"too large: .* come to \d\d,\d\d\d; at most 40,000"):
        machine.matcher("gbnf", source)


def test_the_engine_s_errors_carry_no_backtraces(machine: Machine) -> None:
    """With them, a refusal costs seconds where rules are nested deeply."""
    assert os.environ["RUST_LIB_BACKTRACE"] == "0"
    rules = "".join(f"T{n}: T{n + 1} 'x'?\n" for n in range(50))
    with pytest.raises(InputError) as refusal:
        machine.matcher("lark", f"start: T0\n{rules}T50: /[/")
    assert "backtrace" not in str(refusal.value)
