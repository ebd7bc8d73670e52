"""`/openapi.json`: it describes every route, and the server is as it says."""

from __future__ import annotations

import json

import httpx2
import jsonschema_rs
import pytest
from api_cases import ask
from fastapi import FastAPI
from pydantic import BaseModel
from served import served

from vedette.backends.none import NoModel
from vedette.serve.app import create_app
from vedette.serve.fields import Body
from vedette.serve.file_store import FileStore
from vedette.serve.options import ServeOptions

HELLO = [{"role": "user", "content": "hello"}]
CASES = 120


@pytest.fixture(scope="module")
def url(tiny_backend, tmp_path_factory):
    """A server with everything that it can have."""
    options = ServeOptions(model="tiny", max_tokens=4)
    with (
        FileStore(tmp_path_factory.mktemp("files")) as files,
        served(create_app(tiny_backend, options, files)) as address,
    ):
        yield address


@pytest.fixture
def http(url):
    with httpx2.Client(base_url=url, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def document(url):
    return httpx2.get(f"{url}/openapi.json").json()


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def test_requests_of_every_kind_are_answered_as_the_document_says(url):
    """A new router is in this by itself. `benchmarks/api_cases.py` asks 2,000 times."""
    outcome = ask(url, CASES)
    assert outcome.failures == []
    assert outcome.statuses[200] > 20
    assert outcome.statuses[400] > 20


class Lie(BaseModel):
    """What a route says that it answers with."""

    n: int


class Question(Body):
    """A body."""

    n: int


def liar(app: FastAPI) -> None:
    @app.post("/lie", response_model=None, responses={200: {"model": Lie}})
    async def lie(body: Question) -> dict[str, str]:
        return {"n": "one"}

    @app.post("/lax", response_model=Lie)
    async def lax(body: Question | dict[str, str]) -> dict[str, int]:
        return {"n": 1}

    @app.post("/fault", response_model=Lie)
    async def fault(body: Question) -> Lie:
        return Lie(n=1 // body.n)


def test_a_route_that_is_not_as_it_says_is_found(caplog):
    app = create_app(NoModel(), ServeOptions(model="none"))
    liar(app)
    with served(app) as url:
        failures = "\n".join(ask(url, 120).failures)
    assert "POST /lie, POSITIVE" in failures
    assert "POST /fault, POSITIVE" in failures
    assert "GET /ready, POSITIVE" in failures  # 503: there is no model
    assert "POST /tokenize, POSITIVE" in failures  # 501


def test_every_route_says_what_it_answers_with(document):
    """Declare `response_model` (or `response_class` for what is no JSON) where this fails."""
    silent = [
        (path, method)
        for path, method, operation in operations(document)
        for answer in [operation["responses"].get("200") or operation["responses"].get("201")]
        if not answer or {} in [kind.get("schema") for kind in answer["content"].values()]
    ]
    assert silent == []


def test_every_route_says_what_it_is_for_and_what_can_go_wrong(document):
    for path, method, operation in operations(document):
        assert operation.get("description"), f"{method} {path} has no docstring"
        for status in ("4XX", "5XX"):
            (content,) = operation["responses"][status]["content"].items()
            assert content[0] == "application/json"
            assert "#/components/schemas/ErrorReply" in json.dumps(content[1])
        assert "422" not in operation["responses"]  # a wrong field is a 400 here


def test_keys_and_scopes_are_told(document):
    paths = document["paths"]
    assert paths["/health"]["get"]["security"] == []
    assert paths["/v1/chat/completions"]["post"]["x-scope"] == "chat"
    assert paths["/v1/models"]["get"]["x-scope"] == "any"
    assert {"bearer": []} in paths["/metrics"]["get"]["security"]
    assert document["components"]["securitySchemes"].keys() == {"bearer", "x-api-key"}


def test_fields_are_told_as_they_are_taken(document):
    fields = document["components"]["schemas"]["ChatBody"]
    assert fields["additionalProperties"] is False
    assert set(fields["required"]) == {"model", "messages"}
    assert fields["properties"]["store"]["enum"] == [None, False]
    assert "nothing is stored here" in fields["properties"]["store"]["description"]


def test_a_value_that_only_looks_neutral_is_refused(http):
    """In JSON 0 is not false, though Python calls them equal."""
    body = {"model": "tiny", "messages": HELLO, "max_tokens": 1}
    for name, value, status in (("store", False, 200), ("store", 0, 400), ("n", 1, 200)):
        reply = http.post("/v1/chat/completions", json={**body, name: value})
        assert reply.status_code == status, (name, value, reply.text)


def test_events_of_a_stream_fit_what_is_told_of_them(document, http):
    for path, body in (
        ("/v1/chat/completions", {"messages": HELLO}),
        ("/v1/completions", {"prompt": "hello"}),
    ):
        answers = document["paths"][path]["post"]["responses"]["200"]["content"]
        told = answers["text/event-stream"]["itemSchema"]["properties"]["data"]["contentSchema"]
        more = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 4}
        reply = http.post(path, json={"model": "tiny", **body, **more})
        *events, done = reply.text.strip().split("\n\n")
        assert done == "data: [DONE]"
        assert len(events) > 2
        for event in events:
            jsonschema_rs.validate(told, httpx2.Response(200, text=event[6:]).json())


def test_what_is_included_later_is_in_the_document_too(tiny_backend):
    app = create_app(tiny_backend, ServeOptions(model="tiny"))
    liar(app)
    with served(app) as url:
        paths = httpx2.get(f"{url}/openapi.json").json()["paths"]
    assert paths["/lie"]["post"]["x-scope"] == "admin"
