"""The preset verbs and their functions, from end to end on a tiny random model."""

from __future__ import annotations

import json

import pytest

import vedette
from vedette.cli.main import run


@pytest.fixture
def call(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "4096")
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("The crane is stuck.\n\n吊车坏了，气死我了！\n", "utf-8")

    def call(verb: str, *tokens: str) -> tuple[int, str, str]:
        code = run([verb, "in.txt", "--quiet", *tokens])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def values(out):
    first, empty, chinese = (json.loads(line)["value"] for line in out.splitlines())
    return [first, chinese], empty


def test_sentiment(call):
    code, out, _ = call("sentiment", "--prior", "none")
    found, empty = values(out)
    assert (code, empty) == (0, {"label": None})
    assert all(set(v["probabilities"]) == {"positive", "negative", "neutral"} for v in found)


def test_triage_with_categories_of_your_own(call, tmp_path):
    (tmp_path / "topics.txt").write_text("cranes: what lifts\nother\n")
    code, out, _ = call("triage", "--categories", "topics.txt", "--teams", "yard,office")
    found, empty = values(out)
    assert (code, empty) == (0, {"answers": {}})
    for value in found:
        answers = value["answers"]
        assert set(answers["category"]["probabilities"]) == {"cranes", "other"}
        assert answers["team"]["choice"] in ("yard", "office")
        assert answers["urgency"]["type"] == "score"
        assert answers["angry"]["type"] == "noul"


def test_tags_of_a_list_and_free_ones(call):
    code, out, _ = call("tag", "--labels", "cranes,food", "--most", "1")
    found, empty = values(out)
    assert (code, empty) == (0, {"tags": [], "probabilities": {}})
    assert all(set(v["probabilities"]) == {"cranes", "food"} and len(v["tags"]) < 2 for v in found)
    code, out, _ = call("tag", "--most", "2")
    found, empty = values(out)
    assert code == 0
    assert all(1 <= len(v["tags"]) <= 2 for v in found)


def test_metadata_is_copied_from_the_text(call):
    code, out, _ = call("metadata")
    assert code == 0
    texts = ["The crane is stuck.", "吊车坏了，气死我了！"]
    for value, text in zip(values(out)[0], texts, strict=True):
        copied = [value["title"], value["date"], *value["authors"]]
        assert all(one is None or one in text for one in copied)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("tag", "--threshold", "0.4"), "--threshold goes with --labels"),
        (("tag", "--labels", "a,a"), "duplicates"),
        (("triage", "--teams", ""), "empty"),
        (("tag", "--most", "0"), "most is 0"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(call, tokens, message):
    code, out, err = call(*tokens)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_same_from_python(call, tiny_full):
    model = str(tiny_full)
    text = "The crane is stuck."
    assert vedette.sentiment(text, model=model)["label"] in ("positive", "negative", "neutral")
    assert set(
        vedette.triage(text, teams=["yard", "office"], model=model)["team"]["probabilities"]
    ) == {"yard", "office"}
    assert set(vedette.tag(text, {"cranes": "what lifts"}, model=model)) <= {"cranes"}
    assert len(vedette.tag(text, most=2, model=model)) <= 2
    assert set(vedette.metadata(text, model=model)) >= {"title", "language", "topics"}
    assert vedette.route("What is 3 * 4?", rules_only=True)["route"] == "up"
    assert vedette.route("Who came?", "Ada came.", rules_only=True)["route"] == "small"
    assert set(vedette.route(text, model=model)) == {"route", "kind", "probability", "reason"}
