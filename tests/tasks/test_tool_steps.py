"""The steps of a tool call, driven by hand: no model, every score and reply scripted."""

from __future__ import annotations

import json
import math

import pytest
from scripted import ONE_EACH, WordBackend, completion, run_by_hand, scores, user_text

from vedette.errors import CapabilityMissing, ConstraintFailed, InputError, InputTooLong
from vedette.tasks.prompt_data import load_prompt
from vedette.tasks.tool import CallTools
from vedette.tasks.tool_defs import tools_of
from vedette.types import ScoreRequest

TOOLS = tools_of(
    [
        {
            "name": "add",
            "description": "Adds numbers.",
            "parameters": {
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a"],
            },
        },
        {"name": "now", "description": "The time."},
    ]
)
ADD = {"name": "add", "arguments": {"a": 1}}
NOW = {"name": "now", "arguments": {}}


# After these nothing is left to correct: some tool, or none, by even odds.
FAIR = {2: (0.1, 0.1), 3: (0.1, 0.1, 0.2)}


def model(p, value, prior=None):
    """Gives these probabilities to the choices, and `prior` where a text says nothing.

    Then it writes `value`.
    """

    def respond(ask):
        if not isinstance(ask, ScoreRequest):
            return completion(value)
        says_nothing = user_text(ask) in load_prompt("tool")["content_free"]
        return scores(*map(math.log, prior or FAIR[len(p)] if says_nothing else p))

    return respond


def test_the_likeliest_tool_is_called_with_arguments_under_its_own_schema():
    answer, asked = run_by_hand(CallTools(TOOLS), "one and", model((0.3, 0.1, 0.1), {"a": 1}))
    (question, *free), (request,) = asked
    assert {one.choices for one in free} == {question.choices}
    assert question.choices == ("add", "now", "none")
    assert json.loads(request.constraint.source)["required"] == ["a"]
    assert not request.constraint.options.strict
    assert answer.value == {"calls": [ADD]}
    assert answer.usage == ONE_EACH + ONE_EACH
    assert answer.extra == {
        "probabilities": {"add": 0.6, "now": 0.2},
        "none_probability": 0.2,
        "mass": 0.5,
    }


def test_none_of_them_is_an_empty_list_and_nothing_is_generated():
    answer, asked = run_by_hand(CallTools(TOOLS), "hello", model((0.1, 0.1, 0.6), None))
    assert len(asked) == 1
    assert answer.value == {"calls": []}
    assert answer.extra["none_probability"] == 0.75


def test_what_the_model_prefers_anyway_is_measured_once_and_divided_out():
    task, backend = CallTools(TOOLS), WordBackend()
    likes_none = model((0.3, 0.2, 0.5), {"a": 1}, prior=(0.05, 0.05, 0.4))
    answer, asked = run_by_hand(task, "x", likes_none, backend)
    assert [len(step) for step in asked] == [3, 1]
    assert answer.value == {"calls": [ADD]}
    # 0.3 / 0.05, 0.2 / 0.05, and twice 0.5 / 0.4, as there are two tools.
    assert answer.extra["none_probability"] == pytest.approx(2.5 / (6 + 4 + 2.5), abs=1e-4)
    again, asked = run_by_hand(task, "x", likes_none, backend)
    assert [len(step) for step in asked] == [1, 1]
    assert again == answer
    assert answer.usage == ONE_EACH + ONE_EACH


def test_a_text_that_says_nothing_asks_for_some_tool_by_even_odds():
    answer, _ = run_by_hand(CallTools(TOOLS), "-", model((0.1, 0.1, 0.1), {}, (0.5, 0.1, 0.2)))
    assert answer.extra["none_probability"] == 0.5


def test_without_a_prior_the_scores_are_left_as_they_are():
    likes_none = model((0.3, 0.2, 0.5), {"a": 1}, prior=(0.05, 0.05, 0.4))
    plain, asked = run_by_hand(CallTools(TOOLS, prior="none"), "x", likes_none)
    assert [len(step) for step in asked] == [1]
    assert plain.extra["none_probability"] == 0.5


def test_tools_are_held_together_against_none():
    answer, _ = run_by_hand(CallTools(TOOLS), "x", model((0.3, 0.3, 0.4), {"a": 1}))
    assert answer.value == {"calls": [ADD]}


@pytest.mark.parametrize(("call_above", "n_calls"), [(0.0, 1), (0.39, 1), (0.41, 0), (0.9, 0)])
def test_call_above_moves_the_point_at_which_a_tool_is_called(call_above, n_calls):
    task = CallTools(TOOLS, call_above=call_above)
    answer, _ = run_by_hand(task, "x", model((0.3, 0.1, 0.6), {"a": 1}))
    assert len(answer.value["calls"]) == n_calls


def test_required_leaves_none_out_of_the_choices_and_of_the_prompt():
    task = CallTools(TOOLS, required=True)
    answer, asked = run_by_hand(task, "x", model((0.1, 0.4), {}))
    (question, *_), _ = asked
    assert question.choices == ("add", "now")
    assert "none" not in question.prompt.messages[0].content
    assert answer.value == {"calls": [NOW]}
    assert "none_probability" not in answer.extra


def test_with_one_required_tool_there_is_nothing_to_be_scored():
    task = CallTools(TOOLS[:1], required=True)
    backend = WordBackend(can_score=False)
    answer, asked = run_by_hand(task, "x", model((), {"a": 1}), backend)
    assert [len(step) for step in asked] == [1]
    assert answer.value == {"calls": [ADD]}


def test_parallel_calls_are_one_array_over_all_tools():
    task = CallTools(TOOLS, parallel=3)
    answer, asked = run_by_hand(task, "x", model((0.3, 0.1, 0.1), [ADD, NOW, ADD]))
    schema = json.loads(asked[1][0].constraint.source)
    assert (schema["minItems"], schema["maxItems"]) == (1, 3)
    assert answer.value == {"calls": [ADD, NOW, ADD]}


def test_parallel_calls_can_be_none_too():
    answer, asked = run_by_hand(CallTools(TOOLS, parallel=3), "x", model((0.1, 0.1, 0.8), []))
    assert (len(asked), answer.value) == (1, {"calls": []})


@pytest.mark.parametrize(
    "reply", [[{"name": "sub", "arguments": {}}], [{"name": "add", "arguments": {"a": "x"}}], {}]
)
def test_a_reply_that_does_not_fit_is_never_passed_on(reply):
    with pytest.raises(ConstraintFailed):
        run_by_hand(CallTools(TOOLS, parallel=2), "x", model((0.3, 0.1, 0.1), reply))


def test_a_tool_called_none_is_a_tool_like_any_other():
    tools = (*TOOLS, *tools_of([{"name": "none"}]))
    task = CallTools(tools)
    assert task.choices == ("add", "now", "none", "no_function")
    assert "- no_function: no function" in task.question("x").prompt.messages[0].content


def test_a_text_without_words_asks_for_nothing():
    answer, asked = run_by_hand(CallTools(TOOLS), " \n", model((), None))
    assert (asked, answer.value, answer.extra) == ([], {"calls": []}, {"empty": True})


def test_a_text_that_does_not_fit_is_refused_with_both_sizes():
    with pytest.raises(InputTooLong, match="the model has room for 4096"):
        run_by_hand(CallTools(TOOLS), "word " * 5000, model((), None))


@pytest.mark.parametrize("missing", ["can_score", "can_constrain"])
def test_a_backend_that_cannot_do_it_is_refused(missing):
    with pytest.raises(CapabilityMissing):
        run_by_hand(CallTools(TOOLS), "x", model((), None), WordBackend(**{missing: False}))


@pytest.mark.parametrize(
    "options",
    [{"parallel": 0}, {"call_above": 1.0}, {"call_above": -0.1}, {"max_tokens": 0}, {"tools": ()}],
)
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(InputError):
        CallTools(**{"tools": TOOLS, **options})


def test_whatever_changes_an_answer_changes_the_identity():
    tasks = [
        CallTools(TOOLS),
        CallTools(TOOLS[:1]),
        CallTools(TOOLS, parallel=2),
        CallTools(TOOLS, required=True),
        CallTools(TOOLS, call_above=0.3),
        CallTools(TOOLS, instructions="Be quick."),
        CallTools(TOOLS, max_tokens=9),
    ]
    assert len({json.dumps(task.identity) for task in tasks}) == len(tasks)
