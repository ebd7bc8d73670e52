"""`/v1/tasks`: what the command line refuses is refused here too, unless it is forced."""

from __future__ import annotations

import httpx2
import pytest
from served import served

from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

COUNT = "Count the errors."
LABELS = ["positive", "negative"]
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
RED = [
    ("classify", {"labels": LABELS, "instructions": COUNT}),
    ("extract", {"schema": SCHEMA, "instructions": COUNT}),
    ("form", {"schema": SCHEMA, "instructions": COUNT}),
    ("decide", {"questions": ["Is it urgent?"], "instructions": COUNT}),
    ("decide", {"questions": ["Is it urgent?", "How much is 37 * 48? 1776|1777"]}),
]


def ask(http, task, options, **body):
    content = {"input": "the server failed", "options": options, **body}
    return http.post(f"/v1/tasks/{task}", json=content)


@pytest.mark.parametrize(("task", "options"), RED)
def test_a_red_line_is_refused_unless_it_is_forced(http, task, options):
    reply = ask(http, task, options)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (400, "red_line")
    assert "arithmetic" in error["message"]
    assert '"force": true' in error["message"]
    assert ask(http, task, options, force=True).status_code == 200


def test_inputs_are_data(http):
    options = {"labels": LABELS}
    assert ask(http, "classify", options, input=COUNT).status_code == 200


def test_a_larger_model_may_be_asked_anything(tiny_backend):
    options = ServeOptions(model="tiny", red_lines=False)
    with (
        served(create_app(tiny_backend, options)) as url,
        httpx2.Client(base_url=url, timeout=30) as http,
    ):
        assert ask(http, *RED[0]).status_code == 200


def test_force_is_yes_or_no(http):
    assert ask(http, *RED[0], force="yes").status_code == 400
