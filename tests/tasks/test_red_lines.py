"""Red lines: what rules read, what the model adds, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scripted import WordBackend, run_by_hand, scores, user_text

from vedette.backends.none import NoModel
from vedette.errors import CapabilityMissing, InputError, RedLine
from vedette.tasks.red_lines.route import CONTENT_FREE, Route
from vedette.tasks.red_lines.rules import RED_KINDS, SIMPLE, load_rules, read, split_input
from vedette.tasks.red_lines.verdict import check_tasks, judge
from vedette.types import Item

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "red_lines.jsonl").read_text("utf-8").splitlines()
]


def by_rules(task, given=None):
    item = Item(id="1", text=task, columns={"input": given})
    route = Route(rules_only=True, input_column="input")
    return run_by_hand(route, item, lambda ask: pytest.fail("asked"), NoModel())[0].value


def test_the_rows_are_balanced_and_none_is_there_twice():
    counts = {}
    for row in ROWS:
        key = (row["kind"], row["language"], row["half"])
        counts[key] = counts.get(key, 0) + 1
    assert len({row["text"] for row in ROWS}) == len(ROWS) >= 200
    assert set(counts) == {
        (kind, language, half)
        for kind in ("ok", *RED_KINDS)
        for language in ("en", "zh")
        for half in ("tune", "report", "check")
    }
    assert min(n for (_, _, half), n in counts.items() if half != "check") >= 12


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_the_half_that_rules_were_not_tuned_on_most_are_told_apart(language):
    rows = [r for r in ROWS if (r["half"], r["language"]) == ("report", language)]
    verdicts = [(row, _judged(row)) for row in rows]
    ok = [v.route == "up" for row, v in verdicts if row["kind"] == "ok"]
    red = [v.route == "up" for row, v in verdicts if row["kind"] != "ok"]
    assert sum(ok) <= 0.06 * len(ok)
    assert sum(red) >= 0.8 * len(red)


def test_words_that_the_rules_were_not_written_for_are_never_called_red_where_they_are_not():
    rows = [row for row in ROWS if row["half"] == "check" and row["kind"] == "ok"]
    assert [row["text"] for row in rows if _judged(row).route == "up"] == []


def _judged(row):
    return judge(read(row["text"], has_input=row["input"], may_be_long=True))


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("What is 37 * 48?", "arithmetic"),
        ("请计算三项费用之和。", "arithmetic"),
        ("Prove that there are infinitely many primes.", "reasoning"),
        ("请一步一步推理。", "reasoning"),
        ("Who was the first king of Norway?", "facts"),
        ("挪威的首都是哪里？", "facts"),
        ("Summarise the whole book.", "long document"),
        ("概括全书的主题。", "long document"),
    ],
)
def test_a_red_line_is_named_with_its_reason(task, kind):
    value = by_rules(task)
    assert (value["route"], value["kind"]) == ("up", kind)
    assert value["probability"] > 0.5
    assert value["reason"].startswith(load_rules().reasons[kind])


@pytest.mark.parametrize(
    "task",
    [
        "Extract the total from the invoice.",
        "Which label fits: how many, how much, who?",
        "Copy the line with the sum.",
        "Translate 'What is 3 + 4?' into French.",
        "从发票中提取总金额。",
        "把“3加4等于几？”翻译成英文。",
    ],
)
def test_work_on_words_is_small_work_even_if_the_words_are_about_numbers(task):
    assert by_rules(task, "Total 31 euros.")["route"] == "small"


def test_facts_may_be_asked_of_a_text_that_is_given():
    question = "Who signed the treaty?"
    assert by_rules(question)["kind"] == "facts"
    assert by_rules(question, "The treaty was signed by Ada Bell.")["route"] == "small"
    pasted = f"{question}\nThe treaty was signed at noon in the great hall by Ada Bell."
    assert by_rules(pasted)["route"] == "small"


def test_the_whole_of_a_short_text_is_no_red_line():
    task = "Summarise the whole document."
    assert by_rules(task)["kind"] == "long document"
    assert by_rules(task, "word " * 3000)["kind"] == "long document"
    assert by_rules(task, "词" * 3000)["kind"] == "long document"
    assert by_rules(task, "A short text.")["route"] == "small"


def test_a_task_and_what_is_pasted_after_it():
    long = "It was a dark night, and the rain fell in torrents."
    assert split_input(f"Summarise:\n\n{long}\n") == ("Summarise:", long)
    assert split_input(f"{long}\n{long}\nWho came?") == (f"{long} Who came?", long)
    assert split_input("x" * 1500) == ("x" * 1000, "x" * 500)
    assert split_input("Two\nlines") == ("Two lines", "")
    # What is in the pasted text does not count.
    assert (
        by_rules(f"Translate into German:\nCalculate 3 + 4 for me, please. {long}")["route"]
        == "small"
    )


def test_the_model_says_of_what_the_rules_do_not_know():
    vague = "Handle this one for me."
    assert by_rules(vague)["route"] == "small"
    names = (SIMPLE, *RED_KINDS)

    def respond(ask):
        assert ask.choices == names
        if any(f"Task: {text}\n" in user_text(ask) for text in CONTENT_FREE):
            return scores(*[math.log(0.2)] * 5)
        return scores(*(math.log(p) for p in (0.0001, 0.0001, 0.9, 0.0001, 0.0001)))

    task, backend = Route(), WordBackend()
    answer, asked = run_by_hand(task, vague, respond, backend)
    assert (answer.value["route"], answer.value["kind"]) == ("up", "reasoning")
    assert [len(step) for step in asked] == [1 + len(CONTENT_FREE)]
    again, asked = run_by_hand(task, vague, respond, backend)
    assert (again.value, [len(step) for step in asked]) == (answer.value, [1])


def test_the_model_is_told_whether_a_text_comes_with_the_task():
    def respond(ask):
        return scores(*[math.log(0.2)] * 5)

    task = Route(input_column="text of mine")
    for columns, said in (({}, "No text"), ({"text of mine": "Hello."}, "With it comes a text")):
        item = Item(id="1", text="Say who came.", columns=columns)
        _, asked = run_by_hand(task, item, respond)
        assert said in user_text(asked[0][0])
        assert "Hello." not in user_text(asked[0][0])


def test_a_row_without_a_task_is_not_asked():
    answer, asked = run_by_hand(Route(), " \n", lambda ask: pytest.fail("asked"))
    assert (answer.value, answer.extra, asked) == ({"route": None}, {"empty": True}, [])


def test_what_cannot_be_done_is_said():
    with pytest.raises(CapabilityMissing, match="--rules-only"):
        run_by_hand(Route(), "x", lambda ask: None, WordBackend(can_score=False))
    with pytest.raises(InputError, match="not a text"):
        by_rules("Copy the name.", 17)


def test_a_task_is_refused_with_the_reason_and_the_ways_out():
    with pytest.raises(RedLine, match="arithmetic") as caught:
        check_tasks(["", "Take dates as they stand.", "Add up all amounts."], has_input=True)
    assert "Add up all amounts." in caught.value.message
    assert "--force" in caught.value.hint
    assert "--backend" in caught.value.hint
    check_tasks(["Who signed it?", "How urgent is it?"], has_input=True)
    with pytest.raises(RedLine, match="facts"):
        check_tasks(["Who invented the zip?"], has_input=False)


def test_the_identity_tells_jobs_apart():
    kinds = [Route(), Route(rules_only=True)]
    assert len({str(task.identity) for task in kinds}) == len(kinds)
