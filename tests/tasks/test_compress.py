"""A text within a budget: never over it, spans exact, order kept, duplicates once."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import WordBackend, completion, run_by_hand, scores, user_text

from vedette.errors import BudgetTooSmall, CapabilityMissing, InputError
from vedette.tasks.compress.split import units
from vedette.tasks.compress.task import Compress

WORDS = st.sampled_from(
    [
        "The",
        "cat",
        "sat.",
        "But",
        "it",
        "ran!",
        "3",
        "dogs",
        "are",
        "not",
        "here;",
        "Bob:",
        "#",
        "##",
        "-",
        "|",
        "```",
        "\n",
        "\n\n",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=80).map(" ".join)
MEETING = "\n".join(
    [
        *(f"Ann: We talk about the weather of day {i}, and of food." for i in range(30)),
        "Bob: The gate opens at 7.15 p.m. on Mondays. It does not open on Sundays.",
        *(f"Ann: Then the food of day {i} was discussed at length." for i in range(30)),
    ]
)


def nothing(ask):
    raise AssertionError("the model is not asked")


def compressed(text, **options):
    return run_by_hand(Compress(**options), text, nothing)[0].value


@given(TEXTS, st.integers(1, 30), st.sampled_from(["", "dogs cat"]))
def test_the_budget_holds_and_every_span_is_in_the_text_in_order(text, budget, query):
    try:
        value = compressed(text, budget=budget, query=query)
    except BudgetTooSmall:
        return
    if value is None:
        assert not text.strip()
        return
    assert len(value["text"].split()) == value["tokens"] <= budget
    at = last = 0
    for start, end in value["spans"]:
        assert last <= start < end
        last = end
        at = value["text"].index(text[start:end], at) + end - start


@given(TEXTS)
def test_units_leave_out_nothing_but_white_space(text):
    at = 0
    for unit in units(text):
        assert not text[at : unit.start].strip()
        at = unit.end
    assert not text[at:].strip()


def test_what_answers_the_query_is_kept_with_what_it_points_back_at():
    value = compressed(MEETING, query="Does the gate open on Sundays?", budget=40)
    assert "The gate opens at 7.15 p.m. on Mondays. It does not open on Sundays." in value["text"]
    assert value["query_found"] is True


def test_a_text_that_fits_is_left_alone():
    assert compressed("One.  Two.", budget=5)["text"] == "One.  Two."


def test_said_twice_is_kept_once_but_another_number_is_another_thing():
    line = "The pump on the north side was set to level {}."
    text = "\n\n".join([line.format(4), line.format(4), line.format(5), "word " * 40])
    value = compressed(text, budget=30, query="pump level")
    assert value["text"].count("level 4") == value["text"].count("level 5") == 1
    assert value["dropped"]["duplicates"] == 1


def test_chinese_is_split_at_its_own_full_stops():
    text = "会议于三点开始。张三说：“价格是12元。”李四没有同意！"
    assert [text[u.start : u.end] for u in units(text)] == [
        "会议于三点开始。",
        "张三说：“价格是12元。”",
        "李四没有同意！",
    ]


def test_the_model_reads_no_more_than_its_share_and_changes_the_order():
    def respond(ask):
        yes = 0.9 if "day 29" in user_text(ask) else 0.1
        return scores(math.log(yes), math.log(1 - yes))

    task = Compress(query="weather and food", budget=60, model_share=0.5)
    answer, asked = run_by_hand(task, MEETING, respond)
    assert sum(len(user_text(ask).split()) for ask in asked[0]) > 0
    assert answer.value["asked_passages"] == len(asked[0])
    assert {a.prompt.messages[1].content[: a.prompt.shared_chars] for a in asked[0]} == {
        "Question: weather and food\n\n"
    }


def test_what_cannot_be_meant_is_refused():
    for wrong in ({"budget": 0}, {"model_share": 2, "query": "x"}, {"model_share": 0.5}):
        with pytest.raises(InputError):
            Compress(**wrong)
    with pytest.raises(BudgetTooSmall):
        compressed("One two three four. Five six seven.", budget=2)
    with pytest.raises(CapabilityMissing):
        run_by_hand(
            Compress(query="x", model_share=0.5), MEETING, nothing, WordBackend(can_score=False)
        )


def test_a_denial_is_no_duplicate_of_what_it_denies():
    lines = [
        "The gate on the north side of the harbour does open on Sundays.",
        "The gate on the north side of the harbour does not open on Sundays.",
        "港口北边的大门星期天开放，游客可以进入。",
        "港口北边的大门星期天不开放，游客可以进入。",
    ]
    value = compressed("\n\n".join([*lines, "word " * 80]), budget=40, query="gate 大门")
    assert all(line in value["text"] for line in lines)


def pointed(text, respond, backend=None, **options):
    return run_by_hand(Compress(how="points", **options), text, respond, backend)


def test_points_come_from_every_part_and_what_the_part_does_not_bear_out_is_left_out():
    def respond(ask):
        if "gate" in user_text(ask):
            said = ["The gate opens at 7.15 p.m. on Mondays.", "The gate opens at 8 p.m."]
        else:
            said = ["They talk about food.", "Carl likes the weather."]
        return completion({"points": said})

    answer, asked = pointed(MEETING, respond, budget=25, chunk_tokens=150)
    value = answer.value
    n_parts = sum(map(len, asked))
    assert value["chunks"] == n_parts > 2
    assert value["unfaithful"] == n_parts
    assert value["text"].count("They talk about food.") == 1
    assert "7.15" in value["text"]
    assert "Carl" not in value["text"]
    assert value["tokens"] == len(value["text"].split()) <= 25
    gate = next(point for point in value["points"] if "gate" in point["text"])
    assert "The gate opens at 7.15" in MEETING[slice(*gate["span"])]


def test_where_no_point_can_stand_sentences_are_kept():
    answer, _ = pointed(MEETING, lambda ask: completion({"points": ["It is 99."]}), budget=25)
    assert answer.value["fallback"] == "sentences"
    assert answer.value["spans"]


def test_options_of_one_way_are_refused_with_the_other():
    for wrong in (
        {"how": "points", "model_share": 0.5, "query": "x"},
        {"chunk_tokens": 500},
        {"how": "points", "chunk_tokens": 5},
    ):
        with pytest.raises(InputError):
            Compress(**wrong)
    with pytest.raises(CapabilityMissing):
        pointed(MEETING, nothing, WordBackend(can_constrain=False), budget=20)


def test_a_heading_of_which_nothing_is_kept_is_left_out():
    text = (
        "# Harbour\n\n## Ferries\n\nThe ferry to Fishguard leaves the harbour at 08:45.\n\n"
        "## Crane\n\nThe crane was painted in a colour that nobody at all had asked for then.\n"
    )
    kept = [compressed(text, budget=n, query="ferry to Fishguard")["text"] for n in range(10, 26)]
    assert any("## Ferries" in one for one in kept)
    assert all(("## Crane" in one) <= ("painted" in one) for one in kept)


def test_of_headings_alone_some_are_kept():
    assert "#" in compressed("# One\n\n# Two\n\n# Three and four and five", budget=4)["text"]
