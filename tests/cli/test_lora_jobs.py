"""`--lora` on jobs: all rows under it, and another job for the journal."""

from __future__ import annotations

import json

import pytest

from tiny_lora import make_lora
from vedette.cli.main import run


@pytest.fixture(scope="module")
def adapter(tiny_full, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lora")
    return make_lora("full", tiny_full, seed=0, strength=2.0).write(folder / "terse.gguf")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("the server failed\nthe label is positive\nthe service\n")
    return path


def classify(rows, model, out, *options: str) -> int:
    labels = ("--labels", "positive,negative", "--prior", "none")
    command = ["classify", str(rows), *labels, "--model", str(model), "--out", str(out)]
    return run([*command, "--quiet", *options])


def probabilities(out) -> list[float]:
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    return [line["value"]["probabilities"]["positive"] for line in lines]


def test_all_rows_are_answered_under_the_adapter(tiny_full, adapter, rows, tmp_path):
    found = {}
    for name, options in {
        "plain": (),
        "none": ("--lora", f"terse={adapter}:0"),
        "whole": ("--lora", f"terse={adapter}"),
        "half": ("--lora", f"terse={adapter}:0.5"),
    }.items():
        assert classify(rows, tiny_full, tmp_path / f"{name}.jsonl", *options) == 0
        found[name] = probabilities(tmp_path / f"{name}.jsonl")
    assert found["none"] == pytest.approx(found["plain"], abs=0.02)
    for one, other in (("whole", "plain"), ("half", "plain"), ("whole", "half")):
        assert found[one] != pytest.approx(found[other], abs=0.02)


def test_a_job_does_not_go_on_under_another_adapter(tiny_full, adapter, rows, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert classify(rows, tiny_full, out, "--lora", f"terse={adapter}") == 0
    assert classify(rows, tiny_full, out, "--lora", f"other={adapter}:1.0") == 0
    assert classify(rows, tiny_full, out) == 2
    assert "another job" in capsys.readouterr().err
    assert classify(rows, tiny_full, out, "--lora", f"terse={adapter}:0.9") == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [("terse", "lora is 'terse'"), ("a b=x.gguf", "'a b' is no name"), ("x=no.gguf", "no.gguf")],
)
def test_what_is_no_adapter_ends_the_command(tiny_full, rows, tmp_path, value, words, capsys):
    assert classify(rows, tiny_full, tmp_path / "out.jsonl", "--lora", value) == 2
    assert words in capsys.readouterr().err


def test_an_adapter_for_another_model_ends_the_command(tiny_models, rows, tmp_path, capsys):
    other = make_lora("sliding", tiny_models["sliding"], seed=0).write(tmp_path / "other.gguf")
    out = tmp_path / "out.jsonl"
    assert classify(rows, tiny_models["full"], out, "--lora", f"x={other}") == 2
    assert "does not go with" in capsys.readouterr().err


def test_where_no_model_is_asked_an_adapter_is_one_option_too_many(rows, adapter, capsys):
    assert run(["guard", str(rows), "--rules-only", "--lora", f"x={adapter}"]) == 2
    assert "--lora is about the model" in capsys.readouterr().err


def test_serve_refuses_a_folder_that_is_none(tmp_path, capsys):
    missing = tmp_path / "missing"
    assert run(["serve", "--adapters-dir", str(missing), "--port", "0"]) == 2
    assert "is no folder" in capsys.readouterr().err
    remote = ("--backend", "openai:http://127.0.0.1:9/v1#m")
    assert run(["serve", "--adapters-dir", str(tmp_path), "--port", "0", *remote]) == 2
    assert "applies no adapters" in capsys.readouterr().err


def test_lines_of_run_batch_ask_for_the_adapters_by_model(tiny_full, adapter, tmp_path, capsys):
    def line(model: str) -> str:
        body = {"model": model, "prompt": "the server", "max_tokens": 12}
        asked = {"custom_id": model, "method": "POST", "url": "/v1/completions", "body": body}
        return json.dumps(asked) + "\n"

    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_text(line("tiny") + line("tiny:terse"))
    command = ["run-batch", str(file), "--out", str(out), "--model", str(tiny_full)]
    command += ["--alias", "tiny", "--quiet", "--lora", f"terse={adapter}"]
    assert run(command) == 0
    plain, terse = (
        json.loads(line)["response"]["body"]["choices"][0]["text"]
        for line in out.read_text().splitlines()
    )
    assert plain != terse
    assert run([*command, "--lora", f"loud={adapter}"]) == 2  # other personas: another job
    assert "another job" in capsys.readouterr().err
