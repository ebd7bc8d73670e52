"""`vedette summarise` from end to end: sentences as they stand, or result lines."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run
from vedette.cli.summarise import _Sentences
from vedette.tasks.summarise.task import Summarise

TEXT = "\n\n".join(f"Paragraph {i}. Ann counts the boats of the harbour." for i in range(60))


@pytest.fixture
def here(tmp_path, tiny_full, monkeypatch):
    for name, value in {
        "OFFLINE": "1",
        "THREADS": "1",
        "CONTEXT_TOKENS": "4096",
        "MODEL": str(tiny_full),
    }.items():
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text(TEXT, "utf-8")
    return tmp_path


def test_one_file_is_answered_with_text_and_what_is_wrong_with_it_on_stderr(here, capfd):
    assert run(["summarise", "in.txt", "--words", "20"]) == 0
    said = capfd.readouterr()
    assert 0 < len(said.out.split()) <= 20
    assert "in.txt" not in said.out
    # A tiny random model writes nothing that could stand.
    assert "these are the text's own" in said.err


def test_a_long_text_tells_how_far_it_is_read(here, capfd, monkeypatch):
    monkeypatch.setattr("vedette.cli.summarise.PARTS_EVERY_S", 0.0)
    assert run(["summarise", "in.txt", "--words", "20", "--chunk-tokens", "300"]) == 0
    assert " parts read" in capfd.readouterr().err
    assert run(["summarise", "in.txt", "--words", "20", "--chunk-tokens", "300", "--quiet"]) == 0
    assert " parts read" not in capfd.readouterr().err


def test_rows_and_files_with_an_output_are_a_job(here, capfd):
    assert run(["summarise", "in.txt", "--words", "20", "--out", "out.jsonl", "--quiet"]) == 0
    (line,) = map(json.loads, (here / "out.jsonl").read_text("utf-8").splitlines())
    assert line["ok"]
    assert line["value"]["words"] <= 20
    (here / "in.jsonl").write_text(json.dumps({"id": "a", "text": "Short."}) + "\n", "utf-8")
    assert run(["summarise", "in.jsonl", "--quiet"]) == 0
    assert json.loads(capfd.readouterr().out)["value"]["whole"] is True


def test_sentences_are_printed_as_they_stand_and_once(capsys):
    class Backend:
        def count_tokens(self, text):
            return len(text.split())

    out = _Sentences(Summarise(words=20).keeper("Ann counts boats and Bob sings.", Backend()))
    out.more("It is 9. ")
    out.more("It is 9. Ann counts")
    assert capsys.readouterr().out == ""
    out.more("Ann")
    out.more("Ann counts boats. Bo")
    assert capsys.readouterr().out == "Ann counts boats."
    out.more("Ann counts boats. Bob sings.")
    out.finish("Ann counts boats. Bob sings.")
    assert capsys.readouterr().out == " Bob sings.\n"


def test_compress_by_rules_loads_no_model(here, capfd, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("the weights are loaded")

    monkeypatch.setattr("vedette.backends.local.EngineCore", never)
    assert run(["compress", "in.txt", "--rules-only", "--budget", "60", "--quiet"]) == 0
    assert json.loads(capfd.readouterr().out)["value"]["tokens"] <= 60
    assert run(["compress", "in.txt", "--rules-only", "--model", "x"]) == 2
    assert run(["compress", "in.txt", "--rules-only", "--how", "points"]) == 2
    assert "--rules-only asks no model" in capfd.readouterr().err
