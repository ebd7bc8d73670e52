"""`vedette clean`: without a model by rules, with a tiny random one whatever it answers."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

import vedette as package
from vedette.cli.main import run
from vedette.errors import InputError

SCHEMA = {
    "type": "object",
    "properties": {
        "ordered": {"type": ["string", "null"], "format": "date"},
        "count": {"type": ["integer", "null"]},
        "size": {"enum": ["S", "M", "L", None]},
    },
}
ROWS = [
    {"id": "a", "ordered": "31.12.2026", "count": "1.000.000", "size": "s"},
    {"id": "b", "ordered": "sent on 3 March 2026", "count": "about 12", "size": "klein"},
    {"id": "c", "ordered": "03/04/2026", "count": None, "size": "M"},
    {"id": "d", "text": "nothing"},
]


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "in.csv").write_text("id,ordered,count,size\nx,2026-01-31,3,L\n")
    (tmp_path / "in.txt").write_text("ordered 3 of them on 2026-01-31\n\n")

    def call(*tokens: str):
        code = run(["clean", *tokens])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def values(out):
    return [json.loads(line)["value"] for line in out.splitlines() if '"ok":true' in line]


def test_rules_alone_need_no_model(vedette, monkeypatch):
    monkeypatch.setenv("VEDETTE_MODEL", "no/such/model.gguf")
    code, out, _ = vedette("in.jsonl", "--schema", "s.json", "--rules-only")
    first, second, third = values(out)
    assert code == 1
    assert first["value"] == {"ordered": "2026-12-31", "count": 1000000, "size": "S"}
    assert [entry["field"] for entry in second["unsettled"]] == ["ordered", "count", "size"]
    assert third["unsettled"][0]["candidates"] == ["2026-03-04", "2026-04-03"]
    assert "none of the fields" in json.loads(out.splitlines()[3])["error"]["message"]


def test_whatever_the_model_answers_values_fit_and_are_borne_out(vedette):
    _, out, _ = vedette("in.jsonl", "--schema", "s.json")
    for value in values(out):
        jsonschema_rs.validate(SCHEMA, value["value"])
        for change in value["changes"]:
            if "copied" in change:
                assert change["copied"] in change["from"]
    assert values(out)[0]["changes"][0]["by"] == "rule:date"


def test_csv_columns_are_read_and_a_missing_one_is_refused(vedette):
    code, out, _ = vedette("in.csv", "--schema", "s.json", "--rules-only")
    assert code == 0
    assert values(out)[0]["value"] == {"ordered": "2026-01-31", "count": 3, "size": "L"}


def test_plain_text_is_taken_as_a_text_with_every_field_in_it(vedette):
    code, out, _ = vedette("in.txt", "--schema", "s.json")
    first, second = values(out)
    assert code == 0
    assert second["value"] == {"ordered": None, "count": None, "size": None}
    assert {entry["field"] for entry in (*first["changes"], *first["unsettled"])} == {
        *("ordered", "count", "size")
    }


def test_a_job_goes_on_where_it_stopped(vedette, tmp_path):
    options = ("in.jsonl", "--schema", "s.json", "--rules-only", "--out", "out.jsonl")
    vedette(*options)
    whole = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(whole[: len(whole) // 2])
    _, _, err = vedette(*options)
    assert (tmp_path / "out.jsonl").read_bytes() == whole
    assert "from the journal" in err or "nothing to do" in err
    code, _, err = vedette(*options, "--order", "dmy")
    assert code == 2
    assert "another job" in err


def test_show_prompt_shows_the_first_question_that_a_row_asks(vedette):
    code, out, _ = vedette("in.jsonl", "--schema", "s.json", "--show-prompt")
    assert code == 0
    assert "sent on 3 March 2026" in out
    (code, _, err) = vedette("in.csv", "--schema", "s.json", "--show-prompt")
    assert code == 2
    assert "asks anything" in err


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["in.jsonl", "--schema", "none.json"], "cannot read the schema none.json"),
        (["in.jsonl", "--schema", "s.json", "--decimal", "x"], "--decimal"),
        (["in.jsonl", "--schema", "s.json", "--country", "DE"], "country is given, but no field"),
        (["in.jsonl", "--schema", "s.json", "--text-field", "x"], "--text-field has no effect"),
        (["in.jsonl", "--schema", "s.json", "--rules-only", "--width", "2"], "--width is about"),
        (["in.jsonl", "--schema", "s.json", "--rules-only", "--show-prompt"], "--show-prompt is"),
        (["in.jsonl", "--schema", "s.json", "--rules-onyl"], 'Did you mean "--rules-only"?'),
        (["no.csv", "--schema", "s.json"], "no column 'count'"),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, tmp_path, tokens, said):
    (tmp_path / "no.csv").write_text("ordered,size\n1,2\n")
    code, out, err = vedette(*tokens)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_from_python_one_row_or_many():
    row = {"ordered": "03/04/2026", "count": "1.000", "size": "l"}
    defaults = {"order": "dmy", "decimal": ","}
    found = package.clean(row, SCHEMA, rules_only=True, defaults=defaults)
    assert found["value"] == {"ordered": "2026-04-03", "count": 1000, "size": "L"}
    assert package.clean("2026-01-31", {"properties": {"a": {"format": "date"}}}, rules_only=True)[
        "value"
    ] == {"a": "2026-01-31"}
    with pytest.raises(InputError):
        package.clean({"x": 1}, SCHEMA, rules_only=True)
