"""How much text a model can use: the texts, what is counted, the limit, the page, the memory."""

from __future__ import annotations

import json
import math

import pytest

from vedette.cli.main import run
from vedette.errors import FileError, InputError
from vedette.evaluate.context.document import document
from vedette.evaluate.context.html import page
from vedette.evaluate.context.measure import Plan, Report, Row, measure
from vedette.models.context_limit import ContextLimit, recall, remember
from vedette.types import Capabilities, Scores, Usage

PLACES = [0.0, 0.5, 1.0]


def count_words(text):
    return len(text.split())


def test_a_text_has_its_length_and_its_facts_where_they_should_be():
    made = document(1000, PLACES, 7, count_words)
    prompt = made.request(made.facts[1]).prompt
    assert 900 < sum(count_words(message.content) for message in prompt.messages) <= 1000
    assert made.text.startswith(made.facts[0].sentence)
    assert made.text.endswith(made.facts[2].sentence)
    assert 0.4 < made.text.index(made.facts[1].sentence) / len(made.text) < 0.6
    assert len({fact.number for fact in made.facts}) == len({f.thing for f in made.facts}) == 3
    assert document(1000, PLACES, 7, count_words) == made != document(1000, PLACES, 8, count_words)


def test_all_questions_about_a_text_share_it():
    made = document(600, PLACES, 1, count_words)
    shared = {
        request.prompt.messages[1].content[: request.prompt.shared_chars]
        for request in map(made.request, made.facts)
    }
    assert shared == {made.text}


class Forgetful:
    """A model that finds what stands in the first so many words, and else the first number."""

    name = "forgetful"
    capabilities = Capabilities(can_score=True, context_tokens=5000)

    def __init__(self, words):
        self.words = words

    def count_tokens(self, text):
        return count_words(text)

    def submit(self, request):
        text, _, question = request.prompt.messages[1].content.partition("\nQuestion")
        thing = question.partition("number of the ")[2].rstrip("?")
        seen = " ".join(text.split()[: self.words])
        _, _, after = seen.partition(f"The number of the {thing} is ")
        found = [math.log(0.9 if after.startswith(c) else 0.01) for c in request.choices]
        scores = Scores(choices=request.choices, logprobs=tuple(found), usage=Usage())
        return type("Done", (), {"result": lambda self: scores})()


def test_accuracy_is_counted_by_length_and_depth_and_time_is_told_first():
    told = []
    plan = Plan(min_length=500, max_length=3000, depths=3, trials=2)
    report = measure(Forgetful(1200), plan, tell=told.append)
    assert plan.lengths == [500, 1000, 2000, 3000]
    assert "11,000" not in told[0]
    assert "13,000 tokens to read in 8 texts: about" in told[0]
    assert [row.shares[0] for row in report.rows] == [1, 1, 1, 1]
    assert [row.shares[1] for row in report.rows][:3] == [1, 1, 1]
    assert report.rows[-1].shares[2] < 1
    assert report.limit_tokens == 1000


def row(length, right):
    return Row(length, (right,), 100, 1.0)


@pytest.mark.parametrize(
    ("right", "limit"),
    [
        ((100, 95, 90, 89), 400),
        ((100, 80, 95, 99), 100),
        ((80, 72, 72, 80), 800),
        ((40, 40, 40, 40), None),
    ],
)
def test_the_limit_is_the_last_length_before_it_gets_worse(right, limit):
    rows = tuple(row(100 * 2**i, n) for i, n in enumerate(right))
    assert Report("m", Plan(), rows).limit_tokens == limit


def test_plans_that_cannot_be_meant_are_refused():
    for wrong in (
        {"depths": 1},
        {"depths": 99},
        {"trials": 0},
        {"min_length": 100},
        {"max_length": 300},
    ):
        with pytest.raises(InputError):
            Plan(**wrong)
    with pytest.raises(InputError, match="room for 5000"):
        measure(Forgetful(10), Plan(max_length=8192))


def test_a_limit_is_remembered_by_the_model_files_hash(tmp_path, monkeypatch):
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path))
    limit = ContextLimit(limit_tokens=2048, measured_tokens=4096, n_questions=30, date="2026-12-02")
    assert recall("ab") is None
    path = remember("ab", limit)
    assert (recall("ab"), recall("cd")) == (limit, None)
    path.write_text("{}", "utf-8")
    with pytest.raises(FileError, match="no context limit"):
        recall("ab")


def test_the_page_needs_nothing_else_and_has_every_figure():
    html = page(Report("a <b> model", Plan(), (row(512, 93), row(1024, 71))))
    assert "a &lt;b&gt; model" in html
    assert "93%" in html
    assert "71%" in html
    assert html.count("<circle") == 2
    assert "http" not in html
    assert "<script" not in html


def test_the_command_on_a_tiny_model(tmp_path, tiny_full, capfd, monkeypatch):
    for name, value in {"OFFLINE": "1", "THREADS": "1", "HOME": str(tmp_path / "home")}.items():
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    small = ("--min-length", "320", "--max-length", "320", "--depths", "2", "--trials", "1")
    html = str(tmp_path / "c.html")
    assert run(["context", str(tiny_full), *small, "--json", "--quiet", "--html", html]) == 0
    said = json.loads(capfd.readouterr().out)
    assert [one["tokens"] for one in said["lengths"]] == [320]
    assert (said["limit_tokens"] is None) == (said["stored"] is None)
    assert "320" in (tmp_path / "c.html").read_text("utf-8")
    assert run(["context", str(tiny_full), *small, "--html", str(tmp_path)]) == 2
    assert "it is no file" in capfd.readouterr().err
    assert run(["context", str(tiny_full), "--max-length", "100000"]) == 2
    assert "room for" in capfd.readouterr().err


def test_show_and_the_backend_tell_what_was_measured(tmp_path, tiny_full, capfd, monkeypatch):
    from vedette.backends.local import LocalBackend

    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    assert run(["show", str(tiny_full)]) == 0
    assert "not measured" in capfd.readouterr().out
    backend = LocalBackend(tiny_full)
    backend.close()
    assert backend.capabilities.useful_tokens is None
    limit = ContextLimit(limit_tokens=512, measured_tokens=1024, n_questions=30, date="2026-12-02")
    remember(backend.sha256, limit)
    assert run(["show", str(tiny_full), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["useful_context"]["limit_tokens"] == 512
    again = LocalBackend(tiny_full)
    again.close()
    assert again.capabilities.useful_tokens == 512
