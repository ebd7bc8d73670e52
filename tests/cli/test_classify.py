"""`vedette classify` from end to end on a tiny random model."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run

ROWS = ["it works", "", "it does not 错误"]


class Desk:
    """A folder with an input, and the command run over it."""

    def __init__(self, folder, model, capfd) -> None:
        self._model = str(model)
        self._capfd = capfd
        self._folder = folder
        self.input = self.write("in.log", "".join(f"{row}\n" for row in ROWS))
        self.out = str(folder / "out.jsonl")

    def write(self, name: str, content: str) -> str:
        path = self._folder / name
        path.write_text(content, "utf-8")
        return str(path)

    def run(self, *tokens: str) -> int:
        code = run(["classify", *tokens, "--model", self._model])
        self.stdout, self.stderr = self._capfd.readouterr()
        return code

    def lines(self) -> list[dict]:
        with open(self.out, "rb") as file:
            return [json.loads(line) for line in file]


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, tiny_full, capfd)


@pytest.mark.parametrize("prior", ["stream", "content-free", "none"])
def test_each_row_gets_one_label_with_probabilities(desk, prior):
    options = ["--labels", "good,bad,other", "--prior", prior, "--out", desk.out]
    assert desk.run(desk.input, *options) == 0
    first, empty, last = desk.lines()
    for line in (first, last):
        probabilities = line["value"]["probabilities"]
        assert list(probabilities) == ["good", "bad", "other"]
        assert sum(probabilities.values()) == pytest.approx(1, abs=1e-3)
        assert probabilities[line["value"]["label"]] == line["value"]["probability"]
    assert (empty["value"], empty["empty"]) == ({"label": None}, True)


def test_multi_gives_a_list_of_labels(desk):
    labels = desk.write("labels.txt", "# two\ngood: it works\nbad\n")
    assert desk.run(desk.input, "--labels", labels, "--multi", "--out", desk.out) == 0
    first, empty, _ = desk.lines()
    assert list(first["value"]["probabilities"]) == ["good", "bad"]
    assert set(first["value"]["labels"]) <= {"good", "bad"}
    assert (empty["value"], empty["empty"]) == ({"labels": []}, True)


@pytest.mark.parametrize("multi", [[], ["--multi"]])
def test_evidence_is_copied_from_the_row(desk, multi):
    options = ["--labels", "good,bad", "--evidence", *multi, "--out", desk.out]
    assert desk.run(desk.input, *options) == 0
    for text, line in zip(ROWS, desk.lines(), strict=True):
        if line.get("empty"):
            continue
        found = line["value"]["evidence"]
        for words in found.values() if multi else [found]:
            start, end = words["span"]
            assert text[start:end] == words["words"] != ""


@pytest.mark.parametrize("multi", [[], ["--multi"]])
def test_show_prompt_shows_labels_and_examples(desk, multi):
    rows = desk.write("rows.jsonl", '{"text": "a {label}", "label": "bad"}\n')
    options = ["--labels", "good,bad", "--examples", rows, "--show-prompt", *multi]
    assert desk.run(desk.input, *options) == 0
    shown = "Text: {}\n" if multi else "<|im_start|>user\n{}<|im_end|>"
    assert shown.format("a {label}") in desk.stdout
    assert shown.format("it works") in desk.stdout
    right = "yes" if multi else "bad"
    assert f"<|im_start|>assistant\n{right}<|im_end|>" in desk.stdout


def test_an_over_long_row_is_an_error_row_and_the_job_goes_on(desk):
    text = desk.write("long.log", "short\n" + "word " * 3000 + "\nlast\n")
    assert desk.run(text, "--labels", "a,b", "--out", desk.out) == 1
    assert [line["ok"] for line in desk.lines()] == [True, False, True]
    error = desk.lines()[1]["error"]
    assert error["code"] == "input_too_long"
    assert "tokens" in error["message"]
    assert error["hint"]
    assert "1 " in desk.stderr


SAID = [
    (["--labels", "a,b,a"], "duplicates: 'a'"),
    (["--labels", "twice.txt"], "duplicates: 'a'"),
    (["--labels", "twice.json"], "duplicates: 'a'"),
    (["--labels", ""], "empty"),
    (["--labels", "none.txt"], "cannot read the label file none.txt: No such file"),
    (["--labels", "a,b", "--examples", "none.jsonl"], "cannot read the examples none.jsonl"),
    (["--labels", "a,b", "--examples", "c.jsonl"], "the label 'c', which is not in the list"),
    (["--labels", "a,b", "--examples", "two.jsonl"], "--multi"),
    (["--labels", "a,b", "--prior", "flat"], "prior"),
    ([], "labels"),
]


@pytest.mark.parametrize(("options", "said"), SAID, ids=[" ".join(o) or "none" for o, _ in SAID])
def test_a_command_that_cannot_run_says_why_in_one_line(desk, options, said):
    desk.write("twice.txt", "a: one\nb\na: two\n")
    desk.write("twice.json", '{"a": "one", "a": "two"}')
    desk.write("c.jsonl", '{"text": "x", "label": "c"}')
    desk.write("two.jsonl", '{"text": "x", "labels": ["a", "b"]}')
    assert desk.run(desk.input, *options) == 2
    assert desk.stdout == ""
    assert desk.stderr.startswith("vedette: ")
    assert desk.stderr.count("\n") == 1
    assert said in desk.stderr.lower() if said == "prior" else said in desk.stderr


def shown(desk, n: int) -> list[str]:
    """Options of a list of `n` labels with an example each."""
    rows = [{"text": f"text number {i}", "label": f"label {i}"} for i in range(n)]
    rows[0]["text"] = "it works"
    examples = desk.write("examples.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return ["--labels", ",".join(row["label"] for row in rows), "--examples", examples]


def test_many_labels_are_answered_by_the_nearest_example(desk):
    options = [*shown(desk, 30), "--out-of-scope", "other", "--out", desk.out]
    assert desk.run(desk.input, *options) == 0
    first, empty, last = desk.lines()
    assert first["value"]["label"] == "label 0"
    assert first["value"]["nearest"] == "it works"
    assert len(last["value"]["probabilities"]) == 8
    assert (empty["value"], empty["empty"]) == ({"label": None}, True)


def test_the_nearest_examples_are_said_to_need_what_they_need(desk):
    assert desk.run(desk.input, *shown(desk, 3), "--out-of-scope", "other") == 2
    assert "at least 20 examples" in desk.stderr
    assert desk.run(desk.input, *shown(desk, 30), "--method", "nearest", "--multi") == 2
    assert "multi goes with scored labels" in desk.stderr
    assert desk.stderr.count("\n") <= 2


def test_many_labels_say_by_what_they_are_answered(desk):
    labels = desk.write("labels.txt", "".join(f"label {i}\n" for i in range(30)))
    desk.run(desk.input, "--labels", labels, "--out", desk.out)
    assert "30 labels: answered by the nearest examples" in desk.stderr
    desk.run(desk.input, "--labels", labels, "--out", desk.out, "--fresh", "--quiet")
    assert desk.stderr == ""
