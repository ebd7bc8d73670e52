"""The door: who is let in, what every error looks like, what is never told."""

from __future__ import annotations

import logging
import re

import httpx2
import openai
import pytest
from openai import OpenAI
from served import served, wait_until

from vedette import errors
from vedette.backends.none import NoModel
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions, check_bind
from vedette.serve.problems import Refusal, body_of, response_of

KEY = "k-123"


def every_error(base=errors.VedetteError):
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:  # those elsewhere only carry more with them
            yield kind
        yield from every_error(kind)


def error_of(reply) -> dict:
    """The error of a reply, whose form is held here."""
    assert reply.json().keys() == {"error"}
    error = reply.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["message"]
    assert reply.headers["x-request-id"]
    return error


@pytest.fixture(scope="module")
def locked():
    """A server with a key and little room."""
    options = ServeOptions(model="none", api_key=KEY, max_body_bytes=100)
    with served(create_app(NoModel(), options)) as url:
        yield url


def test_health_and_readiness(http):
    assert http.get("/health").json() == {"status": "ok"}
    assert http.get("/ready").json() == {"status": "ok"}


def test_who_cannot_answer_lives_but_is_not_ready(locked):
    assert httpx2.get(f"{locked}/health").status_code == 200
    reply = httpx2.get(f"{locked}/ready")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert error_of(reply)["type"] == "unavailable_error"


def test_the_model_is_listed_and_found_by_its_name(client):
    (listed,) = client.models.list()
    assert (listed.id, listed.owned_by) == ("tiny", "vedette")
    assert client.models.retrieve("tiny") == listed
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("gpt-5")
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_paths_and_methods_that_are_not_there(http):
    assert error_of(http.get("/v2/models"))["type"] == "not_found_error"
    reply = http.delete("/v1/models")
    assert (reply.status_code, reply.headers["allow"]) == (405, "GET")
    assert error_of(reply)["code"] == "method_not_allowed"


@pytest.mark.parametrize("kind", list(every_error()), ids=lambda kind: kind.__name__)
def test_every_error_has_its_status_and_form(kind):
    error = kind("it went wrong", hint="mend it")
    assert response_of(error).status_code == kind.http_status
    body = body_of(error)["error"]
    assert body["message"] == "it went wrong (mend it)"
    assert body["param"] is None
    is_long = kind is errors.InputTooLong
    assert body["code"] == ("context_length_exceeded" if is_long else kind.code)
    once = kind.http_status >= 500 and not kind.retryable
    assert once == ("x-should-retry" in response_of(error).headers)
    assert (kind.http_status in (429, 503)) == ("retry-after" in response_of(error).headers)


def test_a_server_with_a_key_lets_nobody_in_without_it(locked):
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {KEY}"}):
        for path in ("/v1/models", "/nowhere"):
            reply = httpx2.get(f"{locked}{path}", headers=headers)
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
            assert error_of(reply)["type"] == "authentication_error"
    for headers in ({"authorization": f"bearer {KEY}"}, {"x-api-key": KEY}):
        assert httpx2.get(f"{locked}/v1/models", headers=headers).status_code == 200
    with OpenAI(base_url=f"{locked}/v1", api_key=KEY) as client:
        assert [model.id for model in client.models.list()] == ["none"]


def test_a_body_over_the_limit_is_refused_announced_or_not(locked):
    headers = {"authorization": f"Bearer {KEY}"}
    for content in (b"x" * 101, iter([b"x" * 60, b"x" * 60])):
        reply = httpx2.post(f"{locked}/v1/models", content=content, headers=headers)
        assert reply.status_code == 413
        assert error_of(reply)["code"] == "body_too_large"


def test_a_web_page_cannot_reach_a_server_without_key_by_a_name_of_its_own(http):
    reply = http.get("/v1/models", headers={"host": "evil.example:9931"})
    assert reply.status_code == 403
    assert error_of(reply)["code"] == "wrong_host"
    assert http.get("/v1/models", headers={"host": "[::1"}).status_code == 403
    for host in ("localhost:1", "127.0.0.1", "[::1]:9931"):
        assert http.get("/v1/models", headers={"host": host}).status_code == 200


def test_no_other_origin_is_allowed(http):
    origin = {"origin": "https://example.com", "access-control-request-method": "POST"}
    for reply in (http.options("/v1/models", headers=origin), http.get("/health", headers=origin)):
        assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_fault_of_ours_is_an_error_in_the_same_form_and_tells_nothing(caplog):
    app = create_app(NoModel())

    @app.get("/boom")
    async def boom():
        raise RuntimeError("secret")

    with served(app) as url:
        reply = httpx2.get(f"{url}/boom")
    assert (reply.status_code, error_of(reply)["type"]) == (500, "api_error")
    assert "secret" not in reply.text
    assert "secret" not in caplog.text  # it could be what a client sent
    assert "builtins.RuntimeError, raised by" in caplog.text
    assert re.search(r"test_door\.py:\d+ boom", caplog.text)


def test_each_request_is_one_log_line_with_its_id(http, caplog):
    caplog.set_level(logging.INFO, "vedette.serve")
    reply = http.get("/v1/models/tiny%0Ax?q=private")
    wait_until(lambda: caplog.records)  # it is written once the answer is out
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"{reply.headers['x-request-id']} GET /v1/models/tiny%0Ax 404 ")
    assert "private" not in line


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.com"])
def test_an_address_that_others_reach_needs_a_key(host):
    with pytest.raises(errors.InputError, match=r"no API key .*vedette keys add"):
        check_bind(host, has_key=False)
    check_bind(host, has_key=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_needs_none(host):
    check_bind(host, has_key=False)


def test_a_refusal_names_the_field():
    refusal = Refusal("no such thing", status=400, code="unknown_field", param="a.b")
    assert body_of(refusal) == {
        "error": {
            "message": "no such thing",
            "type": "invalid_request_error",
            "param": "a.b",
            "code": "unknown_field",
        }
    }
