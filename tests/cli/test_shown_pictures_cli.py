"""Verbs over pictures that are shown to the model, by a tiny random projector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("PIL")

from PIL import Image

from tiny_mmproj import build_mmproj
from vedette.batch import source as source_module
from vedette.cli.main import run
from vedette.pictures import Line
from vedette.pictures.layout import page_of

SCHEMA = "kind:bill|letter, paid:bool"
SPANS = "word:span, kind:bill|letter"
BOX = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


class FakeOcr:
    """Finds one word on everything."""

    def read(self, picture):
        return page_of([Line("Bookshop", 0.9, BOX)])


def painted(path: Path, colour: str) -> None:
    Image.new("RGB", (40, 30), colour).save(path)


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    """Runs a verb over pictures, with a model that has a projector beside it."""
    for name, value in (("OFFLINE", "1"), ("THREADS", "1"), ("CONTEXT_TOKENS", "2048")):
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(source_module, "Ocr", FakeOcr)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/tiny.gguf").write_bytes(tiny_full.read_bytes())
    build_mmproj(tmp_path / "model/mmproj-tiny.gguf")
    (tmp_path / "pics").mkdir()
    for name, colour in (("a.png", "red"), ("b.png", "green"), ("c.png", "red")):
        painted(tmp_path / "pics" / name, colour)

    def call(verb: str, *tokens: str):
        code = run([verb, *tokens, "--model", "model/tiny.gguf"])
        out, err = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines() if line[:1] == "{"], err

    return call


def test_pictures_are_shown_where_a_projector_is_found(vedette, tmp_path):
    (tmp_path / "pics/d.png").write_bytes((tmp_path / "pics/a.png").read_bytes()[:60])
    (tmp_path / "pics/e.png").write_text("no picture")
    code, lines, err = vedette("extract", "pics", "--fields", SCHEMA)
    assert code == 1
    assert "pictures are shown to the model by" in err
    assert [line["id"] for line in lines] == [f"pics/{name}.png" for name in "abcde"]
    assert [line["ok"] for line in lines] == [True, True, True, False, False]
    assert {line["error"]["code"] for line in lines[3:]} == {"invalid_picture"}
    for line in lines[:3]:
        assert line["picture"].keys() == {"sha256", "read_by"}
        assert line["picture"]["read_by"] == "projector"
        assert line["value"].keys() == {"kind", "paid"}
        assert line["usage"]["prompt_tokens"] > 16
    assert lines[0]["value"] == lines[2]["value"]
    assert lines[0]["picture"] == lines[2]["picture"] != lines[1]["picture"]


def test_labels_and_questions_are_scored_after_pictures(vedette, tmp_path):
    code, lines, _ = vedette("classify", "pics", "--labels", "error,warning", "--prior", "none")
    assert code == 0
    first, second, third = (line["value"]["probabilities"] for line in lines)
    assert first == third != second
    questions = tmp_path / "questions.json"
    options = {"error": None, "warning": None}
    asked = {"level": {"type": "choice", "instructions": "Which?", "criteria": options}}
    questions.write_text(json.dumps(asked))
    code, lines, _ = vedette("decide", "pics", "--questions", str(questions))
    assert code == 0
    answers = [line["value"]["answers"]["level"] for line in lines]
    assert answers[0] == answers[2] != answers[1]


def test_the_prompt_shows_the_picture_in_its_place(vedette, capfd):
    assert run(["extract", "pics", "--fields", SCHEMA, "--show-prompt", "--model",
                "model/tiny.gguf"]) == 0  # fmt: skip
    assert "<|im_start|>user\n[picture, 40 x 30, " in capfd.readouterr().out


def test_a_job_goes_on_where_it_was_and_another_reading_is_another_job(vedette):
    command = ("extract", "pics", "--fields", SCHEMA, "--out", "out.jsonl")
    assert vedette(*command)[0] == 0
    before = Path("out.jsonl").read_bytes()
    code, _, err = vedette(*command)
    assert code == 0
    assert Path("out.jsonl").read_bytes() == before
    code, _, err = vedette(*command, "--read-by", "ocr")
    assert code == 2
    assert "journal" in err


@pytest.mark.parametrize("more", [("--read-by", "ocr"), ("--mmproj", "none")])
def test_their_text_is_read_where_that_is_asked_for(vedette, more):
    code, lines, err = vedette("extract", "pics", "--fields", SCHEMA, *more)
    assert code == 0
    assert "shown to the model" not in err
    assert {line["picture"]["read_by"] for line in lines} == {"ocr"}


def test_spans_are_taken_from_a_text(vedette):
    code, lines, _ = vedette("extract", "pics", "--fields", SPANS)
    assert code == 0
    assert {line["picture"]["read_by"] for line in lines} == {"ocr"}
    code, lines, err = vedette("extract", "pics", "--fields", SPANS, "--read-by", "projector")
    assert code == 2
    assert "so a picture cannot be shown" in err
    code, lines, err = vedette(
        "classify", "pics", "--labels", "a,b", "--evidence", "--read-by", "projector"
    )
    assert code == 2
    assert "so a picture cannot be shown" in err


def test_options_without_a_use_are_refused(vedette, tmp_path):
    (tmp_path / "rows.txt").write_text("error\n")
    for flags in (("--read-by", "projector"), ("--mmproj", "model/mmproj-tiny.gguf")):
        code, _, err = vedette("extract", "rows.txt", "--fields", SCHEMA, *flags)
        assert (code, "there are none in the input" in err) == (2, True)
    code, _, err = vedette("extract", "pics", "--fields", SCHEMA, "--read-by", "ocr", "--mmproj",
                           "model/mmproj-tiny.gguf")  # fmt: skip
    assert code == 2
    (tmp_path / "model/mmproj-tiny.gguf").unlink()
    code, _, err = vedette("extract", "pics", "--fields", SCHEMA, "--read-by", "projector")
    assert (code, "no vision projector" in err) == (2, True)
    code, _, err = vedette("extract", "pics", "--fields", SCHEMA, "--mmproj", "gone.gguf")
    assert (code, "no projector file" in err) == (2, True)
