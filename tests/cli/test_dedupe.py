"""`vedette dedupe` on a tiny random model, and the commands that it refuses."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run

ROWS = [
    "the quick brown fox jumps over the lazy dog",
    "the quick brown fox jumps over my lazy cat",
    "红烧牛肉面大份加蛋",
    "The quick  brown fox jumps over the lazy dog",
    "红烧牛肉面大份加两个蛋",
]


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("".join(f"{row}\n" for row in ROWS), "utf-8")

    def call(*tokens: str):
        code = run(["dedupe", *tokens])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def test_rows_from_a_file_are_clustered_and_the_summary_says_so(vedette):
    code, out, err = vedette("in.txt", "--threshold", "0.6")
    found = [json.loads(line)["value"] for line in out.splitlines()]
    assert code == 0
    assert [value["representative"] for value in found] == ["1", "1", "3", "1", "3"]
    assert "5 rows, 2 of them different" in err


def test_the_model_judges_what_is_in_the_band_and_the_journal_keeps_it(vedette, tmp_path):
    options = ("in.txt", "--grey", "0.3:0.9", "--model-check", "--out", "out.jsonl", "--json")
    code, out, _ = vedette(*options)
    summary = json.loads(out)
    assert code == 0
    assert summary["asked"] == summary["grey_pairs"] > 0
    before = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").unlink()
    _, out, _ = vedette(*options)
    assert json.loads(out)["asked"] == 0
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_show_prompt_shows_both_records(vedette):
    _, out, _ = vedette("in.txt", "--model-check", "--show-prompt", "--what", "sentence")
    assert ROWS[0] in out
    assert ROWS[1] in out
    assert "the same sentence" in out


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["none.txt"], "cannot read none.txt"),
        (["in.txt", "--grey", "0.5:0.8"], "--grey is about the model"),
        (["in.txt", "--workers", "2"], "--workers is about the model"),
        (["in.txt", "--what", "product"], "--what is about the model"),
        (["in.txt", "--model-check", "--grey", "0.5"], "write it as 0.5:0.8"),
        (["in.txt", "--model-check", "--grey", "0.9:0.8"], "grey band begins at 0.9"),
        (["in.txt", "--model-check", "--grey", "0.5:0.8", "--threshold", "0.8"], "--threshold out"),
        (["in.txt", "--threshold", "80"], "threshold is 80"),
        (["in.txt", "--shingles", "3"], "write chars:3 or words:2"),
        (["in.txt", "--normalise", "nfc"], "'nfc' is no kind"),
        (["in.txt", "--fields", "a,,b"], "separated by commas"),
        (["in.txt", "--fields", "a"], "the input is plain text without fields"),
        (["in.jsonl", "--fields", "a", "--text-field", "b"], "exclude each other"),
        (["in.txt", "--treshold", "0.8"], 'Did you mean "--threshold"?'),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, tokens, said):
    code, out, err = vedette(*tokens)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
