"""The larger model is dead, slow, broken or talks nonsense: the client gets what was configured."""

from __future__ import annotations

import socket
import threading

import httpx2
import pytest
from gatewayed import gatewayed, text_of, tier
from served import wait_until
from upstreams import upstream

ONE = '[gateway.routes.auto]\ncall = ["large"]\n'
TWO = '[gateway.routes.auto]\ncall = ["large", "backup"]\n'
AND_LOCAL = '[gateway.routes.auto]\ncall = ["large", "local"]\n'

# mode of the upstream: status, code; what a fallback is told to be for
FAILURES = {
    "dead": (502, "server_unreachable"),
    "slow": (504, "server_timeout"),
    "html": (502, "server_failed"),
    "garbage": (502, "server_failed"),
    "break": (502, "server_unreachable"),
    "429": (429, "rate_limited"),
    "500": (502, "server_failed"),
    "503": (502, "server_failed"),
    "401": (502, "server_failed"),
    "404": (502, "server_failed"),
}
STREAM_ONLY = {"empty": (502, "server_unreachable"), "error-event": (502, "server_failed")}


@pytest.fixture(scope="module")
def large():
    with upstream() as one:
        yield one


@pytest.fixture(scope="module")
def backup():
    with upstream(text=lambda body: "from the backup") as one:
        yield one


@pytest.fixture(scope="module")
def dead_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.fixture
def serve(tmp_path, monkeypatch, tiny_backend, large, backup, dead_url):
    def configured(mode: str, routes: str, **more):
        large.mode = mode if mode != "dead" else "ok"
        how = {"timeout_s": 0.4 if mode in ("slow", "stall") else 20.0, **more}
        if mode == "dead":
            how["base_url"] = dead_url
        tiers = tier(large, **how) + tier(backup, "backup", price=[1.0, 2.0])
        return gatewayed(tmp_path, monkeypatch, tiny_backend, tiers + routes)

    yield configured
    large.mode = "ok"


@pytest.mark.parametrize("mode", FAILURES)
def test_alone_it_is_an_error_with_its_status_and_with_a_fallback_an_answer(serve, mode):
    status, code = FAILURES[mode]
    with serve(mode, ONE) as on:
        for how in ({}, {"stream": True}):
            response = on.ask("hello", **how)
            assert (response.status_code, response.json()["error"]["code"]) == (status, code)
            assert response.headers["x-vedette-tier"] == "large"
            assert on.rows[-1]["outcome"] == code
            assert on.rows[-1]["saved"] == 0
    with serve(mode, TWO) as on:
        response = on.ask("hello")
        assert response.json()["choices"][0]["message"]["content"] == "from the backup"
        assert response.headers["x-vedette-tier"] == "backup"
        assert response.headers["x-vedette-reason"] == f"fallback:{code}"
        response, events = on.stream("hello")
        assert text_of(events) == "from the backup"
        assert on.rows[-1]["tier"] == "backup"
        assert on.rows[-1]["cost"] == pytest.approx((40 * 1 + 10 * 2) / 1e6)


@pytest.mark.parametrize("mode", STREAM_ONLY)
def test_a_stream_that_says_nothing_is_an_error_too(serve, mode):
    with serve(mode, ONE) as on:
        response = on.ask("hello", stream=True)
        assert (response.status_code, response.json()["error"]["code"]) == STREAM_ONLY[mode]
    with serve(mode, TWO) as on:
        assert text_of(on.stream("hello")[1]) == "from the backup"


@pytest.mark.parametrize("mode", ["late", "garbage-event", "stall"])
def test_what_breaks_off_later_is_an_error_event_and_no_fallback(serve, mode, backup):
    n_before = len(backup.bodies)
    with serve(mode, TWO) as on:
        response, events = on.stream("hello world, how are you")
        assert response.status_code == 200
        assert text_of(events) == "hello "
        assert events[-1]["error"]["code"] == "answer_interrupted"
        assert None not in events
        row = on.rows[-1]
        assert (row["outcome"], row["estimated"]) == ("answer_interrupted", True)
        assert row["completion_tokens"] > 0
    assert len(backup.bodies) == n_before


def test_tries_are_made_and_bounded(serve, large):
    n_before = len(large.bodies)
    with serve("503-once", ONE, tries=2) as on:
        assert on.ask("hello").status_code == 200
    with serve("503", ONE, tries=2) as on:
        assert on.ask("hello").status_code == 502
    assert len(large.bodies) == n_before + 4


def test_what_is_wrong_with_the_request_is_the_clients(serve, backup):
    n_before = len(backup.bodies)
    with serve("400", TWO) as on:
        response = on.ask("hello")
        assert response.status_code == 400
        assert "no: 400" in response.json()["error"]["message"]
    assert len(backup.bodies) == n_before


def test_the_local_model_can_be_the_last_resort(serve):
    with serve("dead", AND_LOCAL) as on:
        response = on.ask("hello", max_tokens=4)
        assert response.status_code == 200
        assert response.headers["x-vedette-tier"] == "local"
        assert response.headers["x-vedette-reason"] == "fallback:server_unreachable"


def test_a_wrong_key_is_the_gateways_trouble_and_is_not_told(serve, monkeypatch, large):
    monkeypatch.setenv("LARGE_KEY", "sk-very-secret")
    with serve("401", ONE, api_key="${env.LARGE_KEY}") as on:
        response = on.ask("hello")
        assert response.status_code == 502
        assert "check api_key of [gateway.tiers.large]" in response.json()["error"]["message"]
        assert "sk-very-secret" not in response.text
    assert large.keys[-1] == "Bearer sk-very-secret"


def test_without_told_usage_tokens_are_counted_here(serve, large):
    told, large.usage = large.usage, None
    try:
        with serve("ok", ONE, price=[1.0, 1.0]) as on:
            on.ask("hello there")
            on.stream("hello there")
            whole, streamed = on.rows
            assert whole["estimated"]
            assert whole["prompt_tokens"] == whole["completion_tokens"] > 0
            assert whole["cost"] > 0
            assert streamed["completion_tokens"] == whole["completion_tokens"]
    finally:
        large.usage = told


def test_a_client_that_leaves_ends_the_call(serve, large):
    with serve("stall", ONE, timeout_s=20.0) as on:
        body = {"model": "auto", "messages": [{"role": "user", "content": "hello world"}]}
        n_left = large.left
        with on.http.stream(
            "POST", "/v1/chat/completions", json={**body, "stream": True}
        ) as response:
            lines = response.iter_lines()
            assert next(lines).startswith("data: ")
            assert on.rows[-1]["outcome"] == "under_way"  # what a server that is killed leaves
        wait_until(lambda: large.left > n_left)
        wait_until(lambda: on.rows[-1]["outcome"] == "cancelled")
        large.mode = "slow"
        with pytest.raises(httpx2.ReadTimeout):
            on.http.post("/v1/chat/completions", json=body, timeout=0.3)
        wait_until(lambda: [row["outcome"] for row in on.rows] == ["cancelled"] * 2)


def test_no_more_requests_than_there_may_be(serve):
    with serve("stall", "[gateway]\nmax_requests = 1\n" + ONE, timeout_s=20.0) as on:
        body = {"model": "auto", "messages": [{"role": "user", "content": "hello world"}]}
        held = threading.Event()
        done = threading.Event()

        def hold() -> None:
            with on.http.stream(
                "POST", "/v1/chat/completions", json={**body, "stream": True}
            ) as response:
                lines = response.iter_lines()
                next(lines)
                held.set()
                done.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(20)
        response = on.ask("hello")
        done.set()
        thread.join()
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.json()["error"]["code"] == "overloaded"
