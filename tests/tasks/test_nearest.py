"""Labels by the nearest examples: likeness, probabilities, and the answer out of scope."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted import ONE_EACH, WordBackend, run_by_hand

from vedette.decide.calibration import Promise, calibrate
from vedette.errors import CalibrationMismatch, CapabilityMissing, InputTooLong, LabelError
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classifier import MANY, chosen_unasked, classifier
from vedette.tasks.classify import Classify
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label
from vedette.tasks.nearest.neighbours import Neighbours, fit_scale
from vedette.tasks.nearest.ngrams import Ngrams, grams
from vedette.tasks.nearest.places import Places
from vedette.tasks.nearest.task import Nearest
from vedette.types import Embedding, EmbedRequest

LABELS = (Label("lost_card", "a card is gone"), Label("late-parcel"), Label("天气"))
SHOWN = [
    ("my card is gone", "lost_card"),
    ("I cannot find my bank card", "lost_card"),
    ("the parcel has not come", "late-parcel"),
    ("where is my parcel", "late-parcel"),
    ("明天会下雨吗", "天气"),
    ("今天北京天气怎么样", "天气"),
]
EXAMPLES = tuple(LabelledText(text, (label,)) for text, label in SHOWN)


def vector(text: str) -> list[float]:
    """Where the fake model places a text: by what it is about, and a little by its letters."""
    topics = [
        any(word in text for word in words) for words in (("card",), ("parcel",), ("天", "雨"))
    ]
    noise = np.random.default_rng(sum(text.encode())).normal(0, 0.3, 8)
    return [*(4.0 * topic for topic in topics), *noise.tolist()]


class PlacingBackend(WordBackend):
    """Can embed."""

    identity = {"model": "fake"}  # noqa: RUF012

    def __init__(self, **capabilities: bool) -> None:
        super().__init__(**{"can_embed": True, **capabilities})


def place(ask: EmbedRequest) -> Embedding:
    return Embedding(vector=tuple(vector(ask.prompt.messages[-1].content)), usage=ONE_EACH)


def placed(**options: object) -> Nearest:
    task = Nearest(LABELS, EXAMPLES, **options)
    known = task.placed(np.array([vector(text) for text in task.texts], np.float32))
    assert isinstance(known, Nearest)
    return known


def answer(text: str, task: Nearest | None = None) -> dict:
    found, _ = run_by_hand(task or placed(), text, place, PlacingBackend())
    assert isinstance(found.value, dict)
    return found.value


@pytest.mark.parametrize(
    ("text", "label"),
    [("somebody took my card", "lost_card"), ("no parcel yet", "late-parcel"), ("雨很大", "天气")],
)
def test_a_text_has_the_label_of_its_neighbours(text: str, label: str) -> None:
    value = answer(text)
    assert value["label"] == label
    assert value["nearest"] in placed().texts
    assert math.isclose(sum(value["probabilities"].values()), 1.0, abs_tol=1e-3)
    assert value["probabilities"][label] == value["probability"] > 1 / 3


def test_each_text_costs_one_request_with_what_is_shared_in_front() -> None:
    _, asked = run_by_hand(placed(instructions="Bank talk."), "my card", place, PlacingBackend())
    ((request,),) = asked
    assert isinstance(request, EmbedRequest)
    assert request.prompt.shared_messages == 1
    assert request.prompt.messages[0].content.endswith("Bank talk.")


def test_names_are_read_as_words_and_descriptions_with_them() -> None:
    assert placed().texts[-3:] == ("lost card: a card is gone", "late parcel", "天气")


def test_what_is_far_from_every_label_is_out_of_scope() -> None:
    task = placed(out_of_scope="other", in_scope_loss=0.2)
    assert task.names[-1] == "other"
    assert answer("my card is lost", task)["label"] == "lost_card"
    strange = answer("quantum chromodynamics", task)
    assert strange["label"] == "other"
    assert strange["similarity"] < answer("my card is lost", task)["similarity"]


def test_out_of_scope_needs_examples_and_a_name_of_its_own() -> None:
    with pytest.raises(LabelError, match="at least 20 examples"):
        Nearest(LABELS, EXAMPLES, out_of_scope="other")
    with pytest.raises(LabelError, match="is a label"):
        Nearest(LABELS, EXAMPLES, out_of_scope="天气", in_scope_loss=0.2)
    with pytest.raises(LabelError, match="share"):
        Nearest(LABELS, EXAMPLES, in_scope_loss=1.5)


def test_examples_of_what_is_out_of_scope_draw_texts_to_it() -> None:
    strange = LabelledText("my card collection of butterflies", ("other",))
    without = placed(out_of_scope="other", in_scope_loss=0.2)
    task = Nearest(LABELS, (*EXAMPLES, strange), out_of_scope="other", in_scope_loss=0.2)
    known = task.placed(np.array([vector(text) for text in task.texts], np.float32))
    assert isinstance(known, Nearest)
    text = "your card collection of butterflies"
    assert answer(text, without)["label"] == "lost_card"
    assert answer(text, known)["label"] == "other"
    assert answer("my card is gone", known)["label"] == "lost_card"


def test_a_label_named_out_of_scope_is_that() -> None:
    labels = (*(Label(f"label {i}") for i in range(MANY + 1)), Label("oos"))
    shown = tuple(LabelledText(f"text {i}", (f"label {i}",)) for i in range(MANY + 1))
    task = classifier(labels, shown)
    assert isinstance(task, Nearest)
    assert (task.out_of_scope, task.names[-1]) == ("oos", "oos")
    assert isinstance(classifier((Label("oos"), Label("in"))), Classify)


def test_an_example_of_another_label_is_refused() -> None:
    with pytest.raises(LabelError, match="'weather'"):
        Nearest(LABELS, (LabelledText("rain", ("weather",)),))


def test_a_backend_that_cannot_embed_is_told_of() -> None:
    with pytest.raises(CapabilityMissing) as refused:
        run_by_hand(placed(), "my card", place, PlacingBackend(can_embed=False))
    assert "local" in (refused.value.hint or "")


def test_a_long_text_is_not_cut_and_an_empty_one_not_asked() -> None:
    with pytest.raises(InputTooLong, match="1001 tokens"):
        run_by_hand(placed(), "card " * 1001, place, PlacingBackend())
    found, asked = run_by_hand(placed(), "  ", place, PlacingBackend())
    assert (found.value, found.extra, asked) == ({"label": None}, {"empty": True}, [])


def test_calibrations_say_what_is_kept_and_go_with_their_examples() -> None:
    backend = PlacingBackend()
    task = placed()
    scored = [
        run_by_hand(task.raw_scores(), text, place, backend)[0].value for text, _ in SHOWN * 20
    ]
    right = [task.names.index(label) for _, label in SHOWN * 20]
    fitted = calibrate(task.names, scored, right, Promise(alpha=0.1), has_prior=task.has_prior)
    assert set(fitted.log_prior) == {0.0}
    found = Calibrations("classify", task.key(backend), {"label": fitted})
    assert answer("my card is gone", placed(calibrations=found))["keep"] is True
    other = Nearest(LABELS, EXAMPLES[:-1], calibrations=found)
    with pytest.raises(CalibrationMismatch):
        run_by_hand(other, "my card", place, backend)


def test_spelling_matches_across_endings_and_in_chinese() -> None:
    index = Ngrams(["cancelled my order", "weather in Berlin", "天气预报"])
    assert index.similarities("cancel the orders").argmax() == 0
    assert index.similarities("北京的天气").argmax() == 2
    assert not index.similarities("zzz qqq").any()
    assert "天气" in grams("天气")
    assert "can" in grams("Cancel")
    itself = index.similarities("weather in Berlin")
    assert math.isclose(itself[1], 1.0, abs_tol=1e-9)


def test_what_all_vectors_have_in_common_does_not_count() -> None:
    common = np.array([50.0, 50.0, 50.0, -9.0], np.float32)
    vectors = np.eye(4, dtype=np.float32)[:3] + common
    among = Places(vectors).among()
    assert np.allclose(np.diag(among), 1, atol=1e-4)
    assert among[0, 1] < 0


def test_a_label_counts_its_nearest_texts_most_however_many_it_has() -> None:
    neighbours = Neighbours([0, 0, 0, 1], 2)
    scores = neighbours.label_scores(np.array([[0.9, 0.1, 0.1, 0.8]]))
    assert np.allclose(scores, [[(0.9 + 0.05 + 0.025) / 1.75, 0.8]])


def test_an_example_left_out_does_not_vote_for_itself() -> None:
    neighbours = Neighbours([0, 0, 1], 2)
    among = np.array([[1.0, 0.2, 0.6], [0.2, 1.0, 0.5], [0.6, 0.5, 1.0]])
    apart = neighbours.left_out(among)
    assert np.allclose(apart[0], [0.2, 0.6])


def test_the_scale_follows_how_telling_the_scores_are() -> None:
    sure = np.array([[0.9, 0.1]] * 9 + [[0.1, 0.9]])
    vague = np.array([[0.51, 0.49], [0.49, 0.51]] * 5)
    assert fit_scale(sure, [0] * 9 + [1]) > fit_scale(vague, [0, 0] * 5)


def test_the_way_follows_the_number_of_labels() -> None:
    few, many = LABELS, tuple(Label(f"label {i}") for i in range(MANY + 1))
    assert isinstance(classifier(few), Classify)
    assert isinstance(classifier(few, EXAMPLES, method="nearest"), Nearest)
    assert isinstance(classifier(many), Nearest)
    assert isinstance(classifier(many, multi=True), Classify)
    assert isinstance(classifier(many, method="score"), Classify)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "score", "out_of_scope": "other"},
        {"method": "nearest", "multi": True},
        {"method": "nearest", "evidence": True},
        {"method": "nearest", "prior": "none"},
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict) -> None:
    with pytest.raises(LabelError) as refused:
        classifier(LABELS, EXAMPLES, **options)
    assert refused.value.hint


def test_what_was_chosen_unasked_is_told():
    many = tuple(Label(f"label {i}") for i in range(MANY + 1))
    oos = (*LABELS, Label("oos"))
    assert chosen_unasked(classifier(many), "auto", "") == [
        f"{MANY + 1} labels: answered by the nearest examples, as by --method nearest"
    ]
    assert chosen_unasked(classifier(oos, EXAMPLES * 4, method="nearest"), "nearest", "") == [
        "the label 'oos' is answered for texts far from all others"
    ]


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({"method": "score"}, LABELS),
        ({"method": "nearest"}, LABELS),
        ({"out_of_scope": "oos", "examples": EXAMPLES * 4}, LABELS),
    ],
)
def test_what_was_asked_for_is_not_told(options, labels):
    asked = (options.get("method", "auto"), options.get("out_of_scope", ""))
    assert chosen_unasked(classifier(labels, **options), *asked) == []
