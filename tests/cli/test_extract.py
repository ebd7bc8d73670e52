"""`vedette extract` from end to end on a tiny random model: files, result lines, endings."""

from __future__ import annotations

import json
import sys

import pytest

from vedette.cli.main import run

ROWS = ["ERROR disk full", "", "INFO 日志 started 🙂", 'say "hi"', "ERROR disk full"]
SCHEMA = {
    "type": "object",
    "properties": {
        "level": {"enum": ["ERROR", "INFO", None]},
        "word": {"type": ["string", "null"], "x-verbatim": True, "maxLength": 20},
    },
    "required": ["level", "word"],
}


class Desk:
    """A folder with an input, a schema and a model, and the command run over them."""

    def __init__(self, folder, model, capfd) -> None:
        self.folder = folder
        self.model = str(model)
        self._capfd = capfd
        self.input = self.write("in.log", "".join(f"{row}\n" for row in ROWS))
        self.schema = self.write("schema.json", json.dumps(SCHEMA))
        self.out = str(folder / "out.jsonl")

    def write(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def run(self, *tokens: str) -> int:
        code = run(["extract", *tokens, *([] if "--model" in tokens else ["--model", self.model])])
        self.stdout, self.stderr = self._capfd.readouterr()
        return code

    def lines(self) -> list[dict]:
        with open(self.out, "rb") as file:
            return [json.loads(line) for line in file]

    def complaint(self, *tokens: str) -> str:
        """The one line of a command that cannot run."""
        assert self.run(*tokens) == 2, self.stderr
        assert self.stdout == ""
        assert self.stderr.startswith("vedette: ")
        assert self.stderr.endswith("\n")
        assert self.stderr.count("\n") == 1, self.stderr
        return self.stderr


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, tiny_full, capfd)


def test_a_file_becomes_one_result_line_for_each_row_in_order(desk):
    assert desk.run(desk.input, "--schema", desk.schema, "--out", desk.out) == 0
    lines = desk.lines()
    assert [line["id"] for line in lines] == ["1", "2", "3", "4", "5"]
    for row, line in zip(ROWS, lines, strict=True):
        assert line["ok"] is True
        assert line["value"]["level"] in ("ERROR", "INFO", None)
        assert line["value"]["word"] is None or line["value"]["word"] in row
        assert set(line["usage"]) == {"prompt_tokens", "completion_tokens", "forced_tokens"}
        assert ("empty" in line) == (row == "")
        assert ("spans" in line) == (row != "")
    assert lines[0]["value"] == lines[4]["value"]
    assert desk.stdout == ""
    assert "5 valid, 0 errors" in desk.stderr


def test_stdin_to_stdout_is_the_default(desk, monkeypatch):
    for tokens in (["-"], []):
        with open(desk.write("two.log", "one\ntwo\n")) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert desk.run(*tokens, "--fields", "level:A|B", "--quiet") == 0
        found = [json.loads(line) for line in desk.stdout.splitlines()]
        assert [line["id"] for line in found] == ["1", "2"]
        assert all(line["value"]["level"] in ("A", "B", None) for line in found)
        assert desk.stderr == ""


def test_fields_and_verbatim_make_the_schema(desk):
    options = ["--fields", "level:A|B, n:bool, word", "--verbatim", "word"]
    assert desk.run(desk.input, *options, "--out", desk.out) == 0
    for row, line in zip(ROWS, desk.lines(), strict=True):
        assert list(line["value"]) == ["level", "n", "word"]
        assert line["value"]["word"] is None or line["value"]["word"] in row


def test_limit_reads_only_the_first_rows(desk):
    assert desk.run(desk.input, "--fields", "a:bool", "--limit", "2", "--out", desk.out) == 0
    assert [line["id"] for line in desk.lines()] == ["1", "2"]


def test_the_json_summary_is_one_object(desk):
    options = ["--fields", "a:bool", "--json"]
    assert desk.run(desk.input, *options, "--out", desk.out) == 0
    summary = json.loads(desk.stdout)
    assert (summary["items"], summary["ok"], summary["errors"]) == (5, 5, 0)
    assert summary["model"] == desk.model
    assert desk.run(desk.input, *options) == 0
    assert len(desk.stdout.splitlines()) == 5
    summary = json.loads(desk.stderr.splitlines()[-1])
    assert summary["items"] == 5


def test_the_same_command_again_asks_nothing(desk):
    options = [desk.input, "--fields", "a:bool", "--out", desk.out, "--json"]
    assert desk.run(*options) == 0
    before = desk.lines()
    assert desk.run(*options) == 0
    assert json.loads(desk.stdout)["asked"] == 0
    assert desk.lines() == before


def test_show_prompt_prints_the_prompt_and_writes_nothing(desk):
    options = ["--schema", desk.schema, "--instructions", "Be brief.", "--show-prompt"]
    assert desk.run(desk.input, *options, "--out", desk.out) == 0
    assert "- level: one of ERROR, INFO, null" in desk.stdout
    assert "Be brief." in desk.stdout
    assert "<|im_start|>user\nERROR disk full<|im_end|>" in desk.stdout
    assert sorted(path.name for path in desk.folder.glob("out*")) == []


def test_examples_are_shown_to_the_model(desk):
    row = {"text": "INFO up", "value": {"level": "INFO", "word": "up"}}
    rows = desk.write("rows.jsonl", "\ufeff" + json.dumps(row))
    options = ["--schema", desk.schema, "--examples", rows, "--show-prompt"]
    assert desk.run(desk.input, *options) == 0
    assert '<|im_start|>assistant\n{"level": "INFO", "word": "up"}<|im_end|>' in desk.stdout


def test_a_long_row_is_read_in_windows_and_says_so(desk):
    long = desk.write("long.log", "short\n" + "word " * 1600 + "\n")
    options = ["--fields", "a:bool", "--out", desk.out]
    assert desk.run(long, *options) == 0
    assert desk.lines()[1]["windows"] > 1


def test_a_grounded_field_without_null_is_an_error_for_the_rows_it_fails_on(desk):
    word = {"type": "string", "x-one-of-input": r"disk|x"}
    schema = desk.write("s.json", json.dumps({"type": "object", "properties": {"w": word}}))
    text = desk.write("two.log", "the disk\nnothing\n")
    assert desk.run(text, "--schema", schema, "--out", desk.out) == 1
    assert [line["ok"] for line in desk.lines()] == [True, False]
    assert desk.lines()[1]["error"]["code"] == "nothing_qualifies"


SAID = [
    ([], "either --schema FILE or --fields LIST"),
    (["--schema", "schema.json", "--fields", "a"], "either --schema FILE or --fields LIST"),
    (["--fields", "a:thing"], "unknown type 'thing'"),
    (["--fields", "a,a"], "a is there twice"),
    (["--fields", "a", "--verbatim", "b"], "no property 'b'"),
    (["--fields", "a:int", "--verbatim", "a"], "x-verbatim goes with type string"),
    (["--schema", "none.json"], "cannot read the schema none.json: No such file"),
    (["--schema", "latin.json"], "cannot read the schema latin.json: it is not UTF-8"),
    (["--schema", "torn.json"], "the schema is not JSON"),
    (["--schema", "list.json"], "a schema must be a JSON object"),
    (["--schema", "thing.json"], "at /properties/a: type: this is not a JSON Schema"),
    (["--schema", "unsupported.json"], "at the root: $ref:"),
    (["--schema", "pattern.json"], "is not a regular expression"),
    (["--fields", "a", "--examples", "none.jsonl"], "cannot read the examples none.jsonl"),
    (["--fields", "a", "--examples", "torn.json"], "torn.json, line 1 is not JSON"),
    (["--fields", "a:int", "--examples", "wrong.jsonl"], "example 1 does not fit the schema"),
    (["--fields", "a", "--max-tokens", "0"], "max_tokens is 0"),
    (["--fields", "a", "--max-tokens", "many"], "many"),
    (["--fields", "a", "--max-tokens", "2000"], "up to 2000; of 2048 there is no room"),
    (["--fields", "a", "--workers", "none"], "--workers is 'none'"),
    (["--fields", "a", "--limit", "-1"], "limit"),
    (["--fields", "a", "--threads", "0"], "threads"),
    (["--fields", "a", "--records", "regex"], "--pattern"),
    (["--feilds", "a"], 'unknown option "--feilds". Did you mean "--fields"?'),
    (["--fields", "a", "-x"], 'unknown option "-x"'),
    (["--fields", "a", "--trheads=3"], '"--trheads". Did you mean "--threads"?'),
    (["--fields", "a", "none.log"], "none.log"),
    (["--fields", "a", "--out", "."], "."),
    (["--fields", "a", "--out", "in.log"], "in.log is both input and output"),
    (["--fields", "a", "--out", "in.log/out.jsonl"], "in.log"),
    (["--fields", "a", "--model", "no-such-model"], "no-such-model"),
    (["--fields", "a", "--model", "none.gguf"], "none.gguf"),
    (["--fields", "a", "--model", "smollm2-135m"], "vedette pull smollm2-135m"),
    (["--fields", "a", "--model", "corrupt.gguf"], "corrupt.gguf"),
    (["--fields", "a", "--model", "text.gguf"], "text.gguf"),
]


@pytest.mark.parametrize(("options", "said"), SAID, ids=[" ".join(o) or "none" for o, _ in SAID])
def test_a_command_that_cannot_run_says_why_in_one_line(desk, options, said):
    desk.write("latin.json", b'{"title": "sch\xf6n"}')
    desk.write("torn.json", '{"type": "object",')
    desk.write("list.json", "[]")
    desk.write("thing.json", '{"properties": {"a": {"type": "thing"}}}')
    desk.write("unsupported.json", '{"$ref": "https://example.org/other.json"}')
    desk.write("pattern.json", '{"properties": {"a": {"type": "string", "x-one-of-input": "("}}}')
    desk.write("wrong.jsonl", '{"text": "a", "value": {"a": "b"}}')
    with open(desk.model, "rb") as file:
        desk.write("corrupt.gguf", file.read(20_000))
    desk.write("text.gguf", "this is no model at all, only text that goes on for a while")
    line = desk.complaint(desk.input, *options)
    assert said in line
    assert "Traceback" not in line
    assert "Errno" not in line
    with open(desk.input) as file:
        assert file.read() == "".join(f"{row}\n" for row in ROWS)


def test_the_journal_of_another_job_is_refused(desk):
    assert desk.run(desk.input, "--fields", "a:bool", "--out", desk.out) == 0
    before = desk.lines()
    line = desk.complaint(desk.input, "--fields", "b:bool", "--out", desk.out)
    assert "out.jsonl.journal" in line
    assert "--fresh" in line
    assert desk.lines() == before
    assert desk.run(desk.input, "--fields", "b:bool", "--out", desk.out, "--fresh") == 0
    assert "b" in desk.lines()[0]["value"]


def test_an_input_without_text_has_no_prompt_to_show(desk):
    empty = desk.write("empty.log", "\n\n")
    assert "no prompt to show" in desk.complaint(empty, "--fields", "a", "--show-prompt")
