"""The presets: their data, what they ask, and the rows that they are measured on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scripted import WordBackend, run_by_hand, scores, user_text

from vedette.errors import InputError, LabelError
from vedette.tasks.labels import Label
from vedette.tasks.presets import build
from vedette.tasks.presets.data import load_preset
from vedette.tasks.prompt_data import load_prompt

DATA = Path(__file__).parent / "data"


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def is_chinese(text):
    return any("\u4e00" <= char <= "\u9fff" for char in text)


@pytest.mark.parametrize("name", ["sentiment", "triage", "tags", "metadata"])
def test_each_preset_has_rows_of_both_languages(name):
    found = rows(f"{name}.jsonl")
    n_chinese = sum(is_chinese(row["text"]) for row in found)
    assert min(n_chinese, len(found) - n_chinese) >= 10
    assert len({row["text"] for row in found}) == len(found) >= 20


def test_the_rows_answers_are_among_those_of_the_presets():
    triage = {question.id: question for question in build.triage().questions}
    assert {row["label"] for row in rows("sentiment.jsonl")} == set(build.sentiment().names)
    for row in rows("triage.jsonl"):
        assert row["category"] in triage["category"].names
        assert row["team"] in triage["team"].names
        assert 0 <= row["urgency"] < len(triage["urgency"].names)
    fields = build.metadata().schema["properties"]
    for row in rows("metadata.jsonl"):
        assert row["language"] in fields["language"]["enum"]
        assert row["type"] in fields["type"]["enum"]
        copied = [row["title"], row["date"], *row["authors"]]
        assert all(one is None or one in row["text"] for one in copied)


def test_no_example_that_the_model_is_shown_is_measured_on():
    shown = {
        one["text"].strip()
        for name in ("sentiment", "tag", "metadata")
        for one in load_preset(name)["examples"]
    }
    measured = {r["text"] for n in ("sentiment", "tags", "metadata") for r in rows(f"{n}.jsonl")}
    assert not shown & measured


def test_triage_asks_all_of_one_reading_with_lists_of_your_own():
    teams = (Label("harbour", "ships"), Label("yard"))
    task = build.triage((), teams)
    free = load_prompt("decide")["content_free"]

    def respond(ask):
        return scores(*range(0, -len(ask.choices), -1))

    answer, asked = run_by_hand(task, "The crane is stuck.", respond)
    about = [ask for ask in asked[0] if not user_text(ask).startswith(tuple(free))]
    assert len({ask.prompt.messages[-1].content[: ask.prompt.shared_chars] for ask in about}) == 1
    assert list(answer.value["answers"]) == ["category", "urgency", "angry", "team"]
    assert set(answer.value["answers"]["team"]["probabilities"]) == {"harbour", "yard"}
    assert answer.value["answers"]["angry"]["type"] == "noul"
    assert "- harbour: ships" in user_text(about[-1])
    with pytest.raises(LabelError, match="duplicates"):
        build.triage((Label("a"), Label("a")))
    with pytest.raises(LabelError, match="'a' alone leaves nothing to decide"):
        build.triage((Label("a"),))


def test_listed_tags_are_those_over_the_threshold_the_likeliest_first():
    odds = {"sport": 0.6, "food": 0.9, "money": 0.2}

    def respond(ask):
        if user_text(ask).startswith(tuple(load_prompt("decide")["content_free"])):
            return scores(math.log(0.5), math.log(0.5))
        p = next(p for name, p in odds.items() if f'label "{name}"' in user_text(ask))
        return scores(math.log(p), math.log(1 - p))

    labels = (Label("sport", "games"), Label("food"), Label("money"))
    task = build.listed_tags(labels, threshold=0.5)
    answer, asked = run_by_hand(task, "x", respond)
    assert answer.value == {"tags": ["food", "sport"], "probabilities": odds}
    assert 'label "sport" (games) apply' in user_text(asked[0][0])
    first = run_by_hand(build.listed_tags(labels, most=1, threshold=0.5), "x", respond)[0]
    assert first.value["tags"] == ["food"]
    strict = run_by_hand(build.listed_tags(labels, threshold=0.95), "x", respond)[0]
    assert strict.value["tags"] == []
    empty, asked = run_by_hand(task, " ", respond)
    assert (empty.value, asked) == ({"tags": [], "probabilities": {}}, [])


def test_free_tags_and_metadata_are_bounded_and_copied():
    tags = build.free_tags(2).schema["properties"]["tags"]
    assert (tags["maxItems"], tags["uniqueItems"], tags["items"]["maxLength"]) == (2, True, 30)
    assert all(len(example.value["tags"]) <= 2 for example in build.free_tags(2).examples)
    fields = build.metadata().schema["properties"]
    assert fields["title"]["x-verbatim"] is fields["date"]["x-verbatim"] is True
    assert fields["authors"]["items"]["x-verbatim"] is True
    assert [list(one.value) for one in build.metadata().examples] == [list(fields)] * 2


def test_numbers_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="most is 0"):
        build.free_tags(0)
    with pytest.raises(InputError, match="most is 0"):
        build.listed_tags((Label("a"),), most=0)
    with pytest.raises(InputError, match="between 0 and 1"):
        build.listed_tags((Label("a"),), threshold=1.0)
    with pytest.raises(LabelError, match="empty"):
        build.listed_tags(())
    with pytest.raises(InputError, match="room for"):
        run_by_hand(
            build.listed_tags((Label("a"),)),
            "word " * 90,
            lambda ask: None,
            WordBackend(context_tokens=40),
        )


def test_the_identity_tells_jobs_apart():
    labels = (Label("a"), Label("b"))
    kinds = [
        build.listed_tags(labels),
        build.listed_tags(labels, threshold=0.7),
        build.listed_tags(labels, most=1),
        build.listed_tags((Label("a"),)),
        build.free_tags(),
        build.free_tags(3),
        build.triage(),
        build.triage(labels),
        build.sentiment(),
        build.sentiment(prior="none"),
        build.metadata(),
    ]
    assert len({str(task.identity) for task in kinds}) == len(kinds)
