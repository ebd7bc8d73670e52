"""Requests for an object: what the calibration keeps is answered here, the rest goes up."""

from __future__ import annotations

import json

import pytest
from gatewayed import gatewayed, text_of, tier
from upstreams import upstream

from vedette.decide.calibration import Promise
from vedette.decide.risk import Threshold
from vedette.errors import CalibrationMismatch, InputError, SchemaError
from vedette.tasks.extract import Extract
from vedette.tasks.extract_thresholds import ExtractThresholds

SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "ERROR"]}},
    "required": ["level"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "level", "schema": SCHEMA}}
ASKED = "Which level? the server failed"
ROUTE = """
    [gateway.routes.auto]
    call = ["large"]
    [[gateway.routes.auto.decide.tasks]]
    extract = "schema.json"
    item = '(?s)^Which level\\? (.*)'
    thresholds = "t.json"
"""


@pytest.fixture(scope="module")
def large():
    with upstream() as one:
        yield one


@pytest.fixture
def configured(tmp_path, monkeypatch, tiny_backend, large):
    """A server with this route, that keeps objects of which the model is surer than `above`."""
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))

    def serve(above: float | None, route: str = ROUTE, made_for: Extract | None = None):
        threshold = None if above is None else Threshold(above, 0.09, 100, 4, 200)
        key = (made_for or Extract(SCHEMA)).key(tiny_backend)
        found = ExtractThresholds(key, Promise(alpha=0.1), threshold, 200)
        found.write(str(tmp_path / "t.json"))
        return gatewayed(tmp_path, monkeypatch, tiny_backend, tier(large) + route)

    return serve


def headers(response) -> tuple[str, str]:
    return response.headers["x-vedette-tier"], response.headers["x-vedette-reason"]


def test_what_is_kept_is_answered_here(configured, large):
    n_before = len(large.bodies)
    with configured(0.0) as on:
        response = on.ask(ASKED, response_format=FORM)
        where, why = headers(response)
        assert where == "local"
        assert why.startswith("kept:")
        said = response.json()["choices"][0]["message"]["content"]
        assert json.loads(said)["level"] in ("INFO", "ERROR")
        assert response.json()["usage"]["prompt_tokens"] > 10
        _, events = on.stream(ASKED, response_format=FORM)
        assert text_of(events) == said
        assert on.rows[-1]["tier"] == "local"
    assert len(large.bodies) == n_before


@pytest.mark.parametrize("above", [1.0, None])
def test_what_is_not_kept_goes_up_with_its_form(configured, large, above):
    with configured(above) as on:
        where, why = headers(on.ask(ASKED, response_format=FORM))
    assert (where, why.partition(":")[0]) == ("large", "unsure")
    assert large.last["response_format"] == FORM


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "Which colour? the server failed"},
        {"response_format": None},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
        {"response_format": {"type": "json_schema"}},
        {"n": 2, "temperature": 1.0},
        {"logprobs": True},
        {"max_tokens": 2},
        {"max_completion_tokens": 2},
        {"text": "Which level? " + "word " * 5000},
        {"text": "Which level?  "},
    ],
)
def test_nothing_else_is_answered_by_it(configured, changed):
    with configured(0.0) as on:
        response = on.ask(**{"text": ASKED, "response_format": FORM, **changed})
        assert headers(response)[0] == "large"


def test_an_answer_without_room_is_no_answer(configured):
    with configured(0.0) as on:
        assert headers(on.ask(ASKED, response_format=FORM, max_tokens=2)) == ("large", "form")


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        ("item =", "reply = 'x {label}'\nitem =", InputError, "tasks.0.reply goes with labels"),
        ("item =", "labels = ['a', 'b']\nitem =", InputError, "one of ask, labels and extract"),
        ("schema.json", "x.json", SchemaError, "tasks.0.extract: the schema is not"),
        ("item =", "instructions = 'Be brief.'\nitem =", CalibrationMismatch, "another model, sch"),
    ],
)
def test_a_task_that_cannot_be_is_told_at_the_start(configured, tmp_path, old, new, kind, words):
    (tmp_path / "x.json").write_text("no schema")
    with pytest.raises(kind, match=words), configured(0.0, ROUTE.replace(old, new)):
        pass
