"""`vedette compress` from end to end on a tiny random model, which only counts tokens."""

from __future__ import annotations

import json

from vedette.cli.main import run


def test_a_plain_file_is_one_text_and_its_result_fits(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    text = "\n\n".join(f"Paragraph {i} is about the harbour." for i in range(40))
    (tmp_path / "in.txt").write_text(text + "\n\nThe ferry sails at 9.\n", "utf-8")
    rest = ("--query", "When does the ferry sail?", "--budget", "60", "--quiet")
    assert run(["compress", "in.txt", *rest]) == 0
    (line,) = map(json.loads, capfd.readouterr().out.splitlines())
    value = line["value"]
    assert "The ferry sails at 9." in value["text"]
    assert value["tokens"] <= 60 < value["source_tokens"]
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "a", "text": text}) + "\n", "utf-8")
    assert run(["compress", "in.jsonl", "--budget", "60", "--quiet"]) == 0
    assert json.loads(capfd.readouterr().out)["id"] == "a"
    assert run(["compress", "in.txt", "--show-prompt", "--quiet"]) == 2
    assert "asks anything" in capfd.readouterr().err
