"""The scorecard of constrained output: what is counted, what is timed, and for whom."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from fake_llama_server import write_fake

from vedette.bench.constrained_answers import Reply, answer_report, check_validators, is_valid
from vedette.bench.constrained_binding import taken_by_binding
from vedette.bench.constrained_match import Accepts, match
from vedette.bench.constrained_suite import Instance, SchemaCase, built_in, read_folder
from vedette.bench.constrained_times import quantiles
from vedette.cli.main import run
from vedette.engine.constraint.schema import SchemaMatcher
from vedette.engine.llama.model import Model
from vedette.errors import FileError, InputError, SchemaError
from vedette.types import Json, Usage

GROUPS = [
    {
        "description": "level",
        "schema": {
            "type": "object",
            "properties": {"level": {"enum": ["INFO", "ERROR"]}},
            "required": ["level"],
        },
        "tests": [
            {"data": {"level": "INFO"}, "valid": True},
            {"data": {"level": 1}, "valid": False},
            {"data": {"level": "ERROR"}, "valid": False},
            {"data": {}, "valid": True},
        ],
        "prompts": ["all is well", "cut", "it did fail"],
    },
    {"description": "remote", "schema": {"$ref": "http://a.example/s"}, "tests": []},
    {"description": "any", "schema": True, "tests": [{"data": 1, "valid": True}]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "suite"
    found.mkdir()
    (found / "one.json").write_text(json.dumps(GROUPS))
    return found


def matcher_of(case: SchemaCase) -> Accepts:
    return SchemaMatcher(case.schema, formats=case.formats).accepts


def of_schema(schema: Json, *instances: tuple[Json, bool]) -> SchemaCase:
    labelled = tuple(Instance(value=value, valid=valid) for value, valid in instances)
    return SchemaCase(name="a", schema=schema, instances=labelled)


def bench(*words: object) -> int:
    return run(["bench", "constrained", *map(str, words), "--offline"])


# The suite


def test_the_built_in_instances_are_labelled_rightly() -> None:
    cases = built_in()
    assert len({case.name for case in cases}) == len(cases) >= 20
    for case in cases:
        validator = jsonschema_rs.validator_for(case.schema, validate_formats=True)
        assert {instance.valid for instance in case.instances} == {True, False}
        assert len(case.prompts) >= 3
        for instance in case.instances:
            assert validator.is_valid(instance.value) == instance.valid, (case.name, instance)


def test_no_built_in_schema_is_refused_or_misjudged() -> None:
    matching = match(built_in(), matcher_of)
    assert matching.refused == {}
    assert matching.false_accepts == matching.false_rejects == ()
    assert matching.accepted == matching.schemas


def test_refusals_and_wrong_verdicts_are_told_apart(folder: Path) -> None:
    matching = match(read_folder(folder), matcher_of)  # two labels are wrong on purpose
    assert (matching.schemas, matching.accepted, matching.instances) == (3, 2, 5)
    assert "$ref" in matching.refused["one 2: remote"]
    assert matching.false_accepts == ("one 1: level, test 3",)
    assert matching.false_rejects == ("one 1: level, test 4",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("{}", "a list of groups is expected"),
        ('[{"schema": {}}]', "group 1: it needs description, schema and tests"),
        ('[{"description": "a", "schema": {}, "tests": [{"data": 1}]}]', "each with data"),
        ("[7]", "group 1"),
    ],
)
def test_a_suite_that_is_none_is_refused_with_the_place(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FileError, match=said):
        read_folder(tmp_path)


def test_a_schema_with_prompts_must_be_one_that_answers_can_be_held_against() -> None:
    case = SchemaCase(name="b", schema={"$ref": "http://a.example/s"}, instances=(), prompts=("x",))
    with pytest.raises(InputError, match=r"b has prompts.*http://a\.example/s"):
        check_validators([case])
    check_validators([SchemaCase(name="b", schema=case.schema, instances=())])


def test_a_folder_is_read_under_a_draft_and_with_formats_or_without(folder: Path) -> None:
    schema = {
        "definitions": {"any": {"format": "date"}},
        "properties": {"a": {"$ref": "#/definitions/any", "maxLength": 0}},
    }
    group = {"description": "d", "schema": schema, "tests": [{"data": {"a": "x"}, "valid": True}]}
    (folder / "one.json").write_text(json.dumps([group]))

    def rejects(**how: Any) -> int:
        return len(match(read_folder(folder, **how), matcher_of).false_rejects)

    assert rejects(draft="7", formats=False) == 0
    assert rejects(draft="7") == 1
    assert rejects(draft="2020-12", formats=False) == rejects(formats=False) == 1  # beside $ref


@pytest.mark.parametrize(("schema", "text", "valid"), [(True, "1", True), (False, "1", False)])
def test_a_schema_can_be_true_or_false(schema: bool, text: str, valid: bool) -> None:
    assert is_valid(of_schema(schema), text) == valid
    assert json.loads(of_schema(schema).source) == ({} if schema else {"not": {}})


# The binding's grammars


def test_the_binding_s_grammar_is_asked_in_the_order_that_it_declares(tiny_full: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"c": {"type": "null"}, "b": {"type": "integer"}, "a": {"enum": ["x"]}},
        "required": ["a", "b"],
    }
    values: list[tuple[Json, bool]] = [
        ({"a": "x", "b": 1}, True),
        ({"a": "x", "c": None, "b": 1}, True),
        ({"a": "y", "b": 1}, False),
    ]
    model = Model(tiny_full)
    matching = match([of_schema(schema, *values)], lambda case: taken_by_binding(model, case))
    assert (matching.accepted, matching.false_accepts, matching.false_rejects) == (1, (), ())


def test_what_the_binding_s_grammar_leaves_out_is_a_false_accept(tiny_full: Path) -> None:
    accepts = taken_by_binding(Model(tiny_full), of_schema({"type": "number", "multipleOf": 2}))
    assert accepts(4)
    assert accepts(3)
    assert not accepts("4")


def test_a_schema_of_which_the_binding_makes_no_grammar_is_refused(tiny_full: Path) -> None:
    with pytest.raises(SchemaError, match="makes no grammar of it"):
        taken_by_binding(Model(tiny_full), of_schema({"$ref": "https://a.example/s"}))


def test_a_grammar_that_llama_cpp_does_not_take_is_told_in_one_line(
    tiny_full: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    schema = {"type": "object", "properties": {'a"b': {"type": "null"}}}
    with pytest.raises(SchemaError, match=r"does not take .*error parsing grammar: expecting"):
        taken_by_binding(Model(tiny_full), of_schema(schema))
    assert capfd.readouterr().err == ""


# Figures


def test_quantiles_are_those_of_the_definition() -> None:
    assert quantiles([]) is None
    many = quantiles(range(1, 201))
    assert many is not None
    assert (many.count, many.p50, many.p99, many.max) == (200, 100.5, 198, 200)
    few = quantiles([3.0, 1.0, 2.0])
    assert few is not None
    assert (few.p50, few.p99) == (2.0, 3.0)


def test_a_runaway_is_cut_or_longer_than_its_schema_s_answers_are() -> None:
    def reply(schema: str, tokens: int, **more: object) -> Reply:
        usage = Usage(sampled_tokens=tokens)
        return Reply(schema=schema, valid=True, usage=usage, **more)  # type: ignore[arg-type]

    short, long = [10, 10, 13], [100, 100, 131]
    replies = [reply("a", n) for n in short] + [reply("b", n) for n in long]
    assert statistics.median(short) == 10
    assert answer_report(replies).runaway == 1  # 131 > 1.3 * 100; 13 is not over 1.3 * 10
    cut = answer_report([*replies, reply("c", 5, cut=True)])
    assert (cut.cut, cut.runaway) == (1, 2)
    failed = answer_report([Reply(schema="a", error="x"), Reply(schema="a", error="x")])
    assert failed.errors == {"x": 2}
    assert (failed.valid, failed.tokens, failed.runaway) == (0, None, 0)


# The command


def test_both_sides_are_asked_the_same_and_scored(
    tiny_full: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = write_fake(tmp_path)
    words = ("--model", tiny_full, "--peer", peer, "--binding", "--schemas", folder)
    assert bench(*words, "--threads", 1, "--json", "--quiet") == 0
    out, err = capsys.readouterr()
    card = json.loads(out)
    assert err == ""
    assert (card["schemas"], card["with_prompts"]) == (3, 1)
    ours, served, bound = card["sides"]
    assert [side["name"] for side in card["sides"]] == [
        *("vedette", "llama-server", "llama-cpp-python")
    ]
    assert ours["matching"]["accepted"] == 2
    assert card["costs"]["compile_ms"]["count"] == card["costs"]["again_ms"]["count"] == 2
    assert card["costs"]["mask_us"]["count"] > 0
    assert card["costs"]["cache_hits"] == 3
    assert ours["answers"]["asked"] == ours["answers"]["valid"] == 3
    assert ours["answers"]["errors"] == {}
    # The program answers one of the prompts with half an object.
    assert (served["answered"], served["matching"]) == (1, None)
    assert (served["answers"]["asked"], served["answers"]["valid"]) == (3, 2)
    assert bound["matching"]["schemas"] == 3
    assert (bound["answered"], bound["answers"]["asked"]) == (1, 3)
    assert bound["answers"]["latency_ms"]["p50"] > 0


def test_people_get_tables_and_what_is_wrong(
    tiny_full: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--model", tiny_full, "--schemas", folder, "--prompts", 1, "--threads", 1) == 0
    out, err = capsys.readouterr()
    assert "under 1 of 1 schemas" in out
    assert "false reject" in out
    assert "one 2: remote" in out
    assert "llama-server" not in out
    assert "one 1: level (1 of 1)" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", 0), "--limit is 0"),
        (("--draft", "7"), "--draft and --ignore-formats are for --schemas"),
        (("--ignore-formats",), "--draft and --ignore-formats are for --schemas"),
        (("--prompts", -1), "--prompts is -1"),
        (("--max-tokens", 0), "--max-tokens is 0"),
        (("--schemas", "nowhere"), "nowhere is not a folder"),
        (("--peer", "nowhere"), "there is no llama-server at nowhere"),
        (("--peer", "nowhere", "--prompts", 0), "there is nothing to ask the peer"),
    ],
)
def test_a_scorecard_that_cannot_be_made_is_one_sentence(
    tiny_full: Path, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], said: str
) -> None:
    assert bench("--model", tiny_full, *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
