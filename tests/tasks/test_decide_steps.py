"""Several questions about one text, driven by hand: no model, every score scripted."""

from __future__ import annotations

import json
import math
from typing import ClassVar

import pytest
from scripted import WordBackend, completion, run_by_hand, scores, user_text

from vedette.decide.calibration import Promise, calibrate
from vedette.decide.question import Option, Question, ask
from vedette.errors import CalibrationMismatch, CapabilityMissing, InputError, InputTooLong
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.decide import Decide
from vedette.tasks.decide_answer import right_option
from vedette.tasks.prompt_data import load_prompt

ANGRY = ask("angry=Is the writer angry?")
TEAM = ask("team=Which team? billing|shipping|other")
URGENT = ask("urgent=How urgent? can wait<today")
QUESTIONS = (ANGRY, TEAM, URGENT)
CONTENT_FREE = load_prompt("decide")["content_free"]


def logs(*values: float):
    return scores(*map(math.log, values))


def is_free(request) -> bool:
    return any(user_text(request).startswith(f"{text}\n\n") for text in CONTENT_FREE)


def leaning(request):
    """Answers; before it has read anything it leans to the first choice."""
    n = len(request.choices)
    if is_free(request):
        return logs(0.6, *[0.2 / (n - 1)] * (n - 1))
    return logs(*{2: (0.6, 0.2), 3: (0.3, 0.2, 0.1)}[n])


def test_every_question_is_answered_in_its_own_form():
    answer, asked = run_by_hand(Decide(QUESTIONS, prior="none"), "Where is it?", leaning)
    assert [len(step) for step in asked] == [3]
    answers = answer.value["answers"]
    assert list(answers) == ["angry", "team", "urgent"]
    assert answers["angry"] == {"type": "noul", "noul": 0.75, "margin": 0.5, "mass": 0.8}
    assert answers["team"]["choice"] == "billing"
    assert answers["team"]["probabilities"] == {"billing": 0.5, "shipping": 0.3333, "other": 0.1667}
    assert answers["team"]["confidence"] == 0.25
    assert answers["urgent"]["legend"] == {"0": "can wait", "1": "today"}
    assert (answers["urgent"]["score"], answers["urgent"]["confidence"]) == (0.25, 0.5)


def test_the_text_is_shared_by_all_questions_and_stands_before_them():
    _, asked = run_by_hand(Decide(QUESTIONS, prior="none"), "Where {question} is it?", leaning)
    prompts = [request.prompt for request in asked[0]]
    shared = {user.content[: p.shared_chars] for p in prompts for user in p.messages[1:]}
    assert shared == {"Where {question} is it?\n\n"}
    assert {p.shared_messages for p in prompts} == {1}
    assert all(q.instructions in user_text(r) for q, r in zip(QUESTIONS, asked[0], strict=True))
    assert "Answers: can wait, today" in user_text(asked[0][2])
    assert "urgent=" not in user_text(asked[0][2])


def test_the_prior_is_measured_once_for_each_question_and_divided_out():
    task, backend = Decide(QUESTIONS), WordBackend()
    first, asked = run_by_hand(task, "Where is it?", leaning, backend)
    assert [len(step) for step in asked] == [3 * (1 + len(CONTENT_FREE))]
    second, asked = run_by_hand(task, "Where is it?", leaning, backend)
    assert [len(step) for step in asked] == [3]
    assert first == second
    answers = first.value["answers"]
    assert answers["angry"]["noul"] == 0.5  # 0.6 to 0.2, before and after reading
    assert answers["team"]["choice"] == "shipping"


def test_in_both_orders_a_leaning_to_the_first_place_cancels_out():
    def first_place(request):
        return logs(0.6, 0.2)

    task = Decide((ANGRY,), prior="none", both_orders=True)
    answer, asked = run_by_hand(task, "Where is it?", first_place)
    assert [request.choices for request in asked[0]] == [("yes", "no"), ("no", "yes")]
    assert answer.value["answers"]["angry"]["noul"] == 0.5
    task = Decide(QUESTIONS, both_orders=True)
    answer, asked = run_by_hand(task, "Where is it?", leaning)
    assert len(asked[0]) == 6 * (1 + len(CONTENT_FREE))
    even = answer.value["answers"]["team"]["probabilities"]
    assert even["billing"] == even["other"]


def calibrations(task: Decide, backend: WordBackend, **promise: float) -> Calibrations:
    """What 160 rows say of a model that is right where it is sure, and else at even odds."""
    found = {}
    for question in task.questions:
        n = len(question.names)
        right = [i % n for i in range(160)]
        rows = [
            [0.0 if i == index and number < 100 else -3.0 for i in range(n)]
            for number, index in enumerate(right)
        ]
        found[question.id] = calibrate(question.names, rows, right, Promise(**promise))
    return Calibrations(task.name, task.key(backend), found)


class NamedBackend(WordBackend):
    identity: ClassVar[dict[str, str]] = {"model": "words"}


def test_with_calibrations_no_prior_is_asked_and_each_answer_says_whether_it_is_kept():
    backend = NamedBackend()
    kept = Decide(QUESTIONS, calibrations=calibrations(Decide(QUESTIONS), backend))
    answer, asked = run_by_hand(
        kept, "Where is it?", lambda r: scores(0, *[-3] * (len(r.choices) - 1)), backend
    )
    assert [len(step) for step in asked] == [3]
    assert [one["keep"] for one in answer.value["answers"].values()] == [True] * 3
    answer, _ = run_by_hand(kept, "What?", lambda r: scores(*[-1] * len(r.choices)), backend)
    assert [one["keep"] for one in answer.value["answers"].values()] == [False] * 3


def test_calibrations_of_other_questions_orders_and_prompts_are_refused():
    backend = NamedBackend()
    known = calibrations(Decide(QUESTIONS), backend)
    with pytest.raises(InputError, match="about angry, team, urgent"):
        Decide((ANGRY,), calibrations=known)
    other = ask("angry=Is the writer glad?")
    for task in (
        Decide((other, TEAM, URGENT), calibrations=known),
        Decide(QUESTIONS, both_orders=True, calibrations=known),
        Decide(QUESTIONS, instructions="Be kind.", calibrations=known),
    ):
        with pytest.raises(CalibrationMismatch):
            run_by_hand(task, "x", leaning, backend)


def test_raw_scores_are_those_of_the_options_in_their_own_order():
    def by_name(request):
        return scores(*(-float(len(name)) for name in request.choices))

    answer, asked = run_by_hand(Decide(QUESTIONS, both_orders=True).raw_scores(), "x", by_name)
    assert [len(step) for step in asked] == [6]
    assert answer.value == {"angry": [-3, -2], "team": [-7, -8, -5], "urgent": [-8, -5]}


def test_an_explanation_has_the_odds_before_and_after_and_in_reverse():
    task = Decide((ANGRY,), explain=True)
    plain, _ = run_by_hand(Decide((ANGRY,)), "Where is it?", leaning)
    answer, asked = run_by_hand(task, "Where is it?", leaning)
    assert len(asked[0]) == 2 * (1 + len(CONTENT_FREE))
    found = answer.value["answers"]["angry"]
    assert found.pop("explain") == {
        "raw": {"yes": 0.75, "no": 0.25},
        "prior": {"yes": 0.75, "no": 0.25},
        "temperature": 1.0,
        "raw_in_reverse": {"yes": 0.25, "no": 0.75},
    }
    assert found == plain.value["answers"]["angry"]  # it only looks on


@pytest.mark.parametrize(
    ("question", "said", "index"),
    [
        (ANGRY, True, 0),
        (ANGRY, "No", 1),
        (ANGRY, "false", 1),
        (TEAM, "shipping", 1),
        (URGENT, 1, 1),
        (URGENT, "0", 0),
        (URGENT, " today ", 1),
        (URGENT, None, None),
        (URGENT, "", None),
    ],
)
def test_what_a_row_calls_right(question, said, index):
    assert right_option(question, said, "row 1") == index


@pytest.mark.parametrize(
    ("question", "said"), [(ANGRY, "maybe"), (TEAM, 1), (TEAM, True), (URGENT, 2), (URGENT, False)]
)
def test_what_is_no_answer_is_refused_with_the_answers(question, said):
    with pytest.raises(InputError, match=r"row 1: .* no answer") as refused:
        right_option(question, said, "row 1")
    assert question.names[0] in refused.value.hint


def test_yes_and_no_are_named_once_for_all_questions_and_anew_where_their_order_is_turned():
    _, asked = run_by_hand(Decide((ANGRY,), prior="none", both_orders=True), "x", leaning)
    given, turned = asked[0]
    assert user_text(given) == "x\n\nIs the writer angry?"
    assert "yes or no" in given.prompt.messages[0].content
    assert user_text(turned).endswith("Is the writer angry?\nAnswers: no, yes")


def test_descriptions_are_shown_as_a_list():
    question = Question("q", "choice", "Which?", (Option("a", "first"), Option("b")))
    _, asked = run_by_hand(Decide((question,), prior="none"), "x", leaning)
    assert user_text(asked[0][0]).endswith("Which?\n- a: first\n- b")


def test_a_row_without_text_is_not_asked():
    answer, asked = run_by_hand(Decide(QUESTIONS), " \n", leaning)
    assert (answer.value, answer.extra, asked) == ({"answers": {}}, {"empty": True}, [])


def test_where_nothing_can_be_scored_the_options_are_written_and_the_answers_say_so():
    said = iter(("yes", "shipping", "today"))

    def writing(request):
        options = json.loads(request.constraint.source)
        assert (request.constraint.kind, len(options) > 1) == ("choice", True)
        return completion(next(said))

    backend = WordBackend(can_score=False)
    answer, asked = run_by_hand(Decide(QUESTIONS), "x", writing, backend)
    assert len(asked) == 1
    angry, team, urgent = answer.value["answers"].values()
    assert angry == {"type": "noul", "noul": None, "answer": "yes", "scored": False}
    assert (team["choice"], team["probabilities"], team["scored"]) == ("shipping", None, False)
    assert (urgent["score"], urgent["confidence"], urgent["scored"]) == (1, None, False)


def test_what_cannot_be_asked_is_refused():
    bare = WordBackend(can_score=False, can_constrain=False)
    with pytest.raises(CapabilityMissing, match="score or constrain"):
        run_by_hand(Decide(QUESTIONS), "x", leaning, bare)
    with pytest.raises(CapabilityMissing, match="both orders"):
        run_by_hand(Decide(QUESTIONS, explain=True), "x", leaning, WordBackend(can_score=False))
    with pytest.raises(InputTooLong, match="room for 40"):
        run_by_hand(Decide(QUESTIONS), "word " * 50, leaning, WordBackend(context_tokens=40))
    with pytest.raises(InputError, match="prior must be"):
        Decide(QUESTIONS, prior="stream")
    with pytest.raises(InputError, match="two questions"):
        Decide((ANGRY, ANGRY))


def test_the_identity_tells_jobs_apart():
    kinds = [
        Decide((ANGRY,)),
        Decide((TEAM,)),
        Decide((ANGRY,), prior="none"),
        Decide((ANGRY,), both_orders=True),
        Decide((ANGRY,), instructions="Be kind."),
    ]
    assert len({str(task.identity) for task in kinds}) == len(kinds)
