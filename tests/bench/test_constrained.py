"""The scorecard of constrained output: what is counted, what is timed, and for whom."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import jsonschema_rs
import pytest
from fake_llama_server import write_fake

from vedette.bench.constrained import match
from vedette.bench.constrained_answers import Reply, answer_report
from vedette.bench.constrained_suite import built_in, read_folder
from vedette.bench.constrained_times import quantiles
from vedette.cli.main import run
from vedette.errors import FileError
from vedette.types import Usage

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
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "suite"
    found.mkdir()
    (found / "one.json").write_text(json.dumps(GROUPS))
    return found


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
    _, matching = match(built_in())
    assert matching.refused == {}
    assert matching.false_accepts == matching.false_rejects == ()
    assert matching.accepted == matching.schemas


def test_refusals_and_wrong_verdicts_are_told_apart(folder: Path) -> None:
    _, matching = match(read_folder(folder))  # two of the four labels are wrong on purpose
    assert (matching.schemas, matching.accepted, matching.instances) == (2, 1, 4)
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
    words = ("--model", tiny_full, "--peer", peer, "--schemas", folder, "--threads", 1)
    assert bench(*words, "--json", "--quiet") == 0
    out, err = capsys.readouterr()
    card = json.loads(out)
    assert err == ""
    assert card["matching"]["accepted"] == 1
    assert card["compile_ms"]["count"] == 1
    assert card["mask_us"]["count"] > 0
    assert card["answers"]["asked"] == card["answers"]["valid"] == 3
    assert card["answers"]["errors"] == {}
    # The program answers one of the prompts with half an object.
    assert (card["peer"]["schemas"], card["peer"]["accepted"]) == (1, 1)
    assert (card["peer"]["answers"]["asked"], card["peer"]["answers"]["valid"]) == (3, 2)


def test_people_get_tables_and_what_is_wrong(
    tiny_full: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--model", tiny_full, "--schemas", folder, "--prompts", 1, "--threads", 1) == 0
    out, err = capsys.readouterr()
    assert "1 of 2" in out
    assert "false reject" in out
    assert "one 2: remote" in out
    assert "llama-server" not in out
    assert "one 1: level (1 of 1)" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", 0), "--limit is 0"),
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
