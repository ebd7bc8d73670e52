"""What was asked before is not asked again, and every request is accounted for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from gatewayed import configure, gatewayed, text_of, threshold_file, tier
from upstreams import upstream

from vedette.cli.main import run
from vedette.serve.ledger import LedgerReply

LARGE_PRICE = [2.0, 8.0]
ONCE = (40 * 2 + 10 * 8) / 1e6  # what a request to the large tier costs, by its usage
CACHED = '[gateway.routes.auto]\ncall = ["large"]\ncache = true\n'
AT_0 = {"temperature": 0}


@pytest.fixture(scope="module")
def large():
    with upstream() as one:
        yield one


@pytest.fixture
def configured(tmp_path, monkeypatch, tiny_backend, large):
    def serve(routes: str):
        text = tier(large, price=LARGE_PRICE) + routes
        return gatewayed(tmp_path, monkeypatch, tiny_backend, text)

    return serve


def test_the_same_request_is_answered_from_the_cache(configured, large):
    with configured(CACHED) as on:
        first = on.ask("hello", **AT_0)
        n = len(large.bodies)
        again = on.ask("hello", **AT_0)
        assert len(large.bodies) == n
        assert again.json() == first.json()
        assert [one.headers["x-vedette-cache"] for one in (first, again)] == ["miss", "hit"]
        assert again.headers["x-vedette-tier"] == "large"
        assert on.ask("hello", seed=7).headers["x-vedette-cache"] == "miss"
        assert on.ask("hello", seed=7).headers["x-vedette-cache"] == "hit"
        miss, hit, *_ = on.rows
        assert (miss["cost"], miss["saved"]) == (pytest.approx(ONCE), 0)
        assert (hit["cost"], hit["saved"]) == (0, pytest.approx(ONCE))
        assert (hit["cache"], hit["prompt_tokens"]) == ("hit", 0)


@pytest.mark.parametrize("fields", [{}, {"temperature": 0.7}, {"temperature": 1}])
def test_what_is_not_repeatable_is_not_kept(configured, fields):
    with configured(CACHED) as on:
        for _ in range(2):
            assert on.ask("hello", **fields).headers["x-vedette-cache"] == "skip"


def test_another_body_or_another_configuration_is_another_answer(configured):
    with configured(CACHED) as on:
        on.ask("hello", **AT_0)
        assert on.ask("hello.", **AT_0).headers["x-vedette-cache"] == "miss"
        assert on.ask("hello", max_tokens=5, **AT_0).headers["x-vedette-cache"] == "miss"
    with configured(CACHED) as on:
        assert on.ask("hello", **AT_0).headers["x-vedette-cache"] == "hit"
    with configured(CACHED + "compress = { budget_tokens = 500 }") as on:
        assert on.ask("hello", **AT_0).headers["x-vedette-cache"] == "miss"


def test_a_stream_is_kept_as_a_stream_and_hidden_values_are_not_kept(configured, large, tmp_path):
    with configured(CACHED + "redact = {}\n[gateway.cache]\nfile = 'kept.db'") as on:
        text = "mail ann@example.com"
        _, first = on.stream(text, **AT_0)
        n = len(large.bodies)
        response, again = on.stream(text, **AT_0)
        assert again == first
        assert text_of(again) == text
        assert len(large.bodies) == n
        assert response.headers["x-vedette-cache"] == "hit"
        assert on.rows[-1]["saved"] == pytest.approx(ONCE)
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("kept.db*"))
    assert b"ann@example.com" not in kept
    assert b'"EMA"' in kept  # a piece of the placeholder
    assert (tmp_path / "kept.db").stat().st_mode & 0o077 == 0


def test_answers_grow_old_and_give_way(configured):
    with configured(CACHED + "[gateway.cache]\nttl_s = 0.000001") as on:
        on.ask("hello", **AT_0)
        assert on.ask("hello", **AT_0).headers["x-vedette-cache"] == "miss"
    with configured(CACHED + "[gateway.cache]\nfile = 'small.db'\nmax_bytes = 700") as on:
        for text in ("a", "b", "a", "c"):
            on.ask(text, **AT_0)
        states = [on.ask(text, **AT_0).headers["x-vedette-cache"] for text in ("a", "c", "b")]
        assert states == ["hit", "hit", "miss"]  # b was not used for longest
        assert on.ask("x" * 2000, **AT_0).status_code == 200
        assert on.ask("c", **AT_0).headers["x-vedette-cache"] == "hit"


def test_failures_and_broken_streams_are_not_kept(configured, large):
    with configured(CACHED) as on:
        large.mode = "500-once"
        assert on.ask("hello", **AT_0).status_code == 502
        assert on.ask("hello", **AT_0).headers["x-vedette-cache"] == "miss"
        large.mode = "late-once"
        on.stream("hello world", **AT_0)
        response, events = on.stream("hello world", **AT_0)
        assert response.headers["x-vedette-cache"] == "miss"
        assert text_of(events) == "hello world"


def test_a_cache_that_fails_fails_no_request(configured, tmp_path, caplog):
    with configured(CACHED) as on:
        on.gateway._cache._database.execute("DROP TABLE answers")
        for _ in range(2):
            assert on.ask("hello", **AT_0).status_code == 200
        assert on.gateway._cache.failures == 4
        assert "cache failed" in caplog.text
        assert "hello" not in caplog.text


MIXED = """
    [gateway.routes.auto]
    call = ["large"]
    cache = true
    [[gateway.routes.auto.decide.tasks]]
    when = "label"
    labels = ["good", "bad"]
    thresholds = "all.json"
    [gateway.routes.private]
    call = ["local"]
"""


def test_the_sums_are_those_of_the_requests(configured, tmp_path, tiny_backend, large):
    threshold_file(tmp_path / "all.json", tiny_backend, ("good", "bad"), 0.0)
    with configured(MIXED) as on:
        label = [{"role": "system", "content": "label it"}, {"role": "user", "content": "fine"}]
        on.ask(label)
        for _ in range(2):
            on.ask("hello", **AT_0)
        on.ask("hello", model="private", max_tokens=3)
        large.mode = "500-once"
        on.ask("other")
        rows = on.rows
        told = on.http.get("/v1/ledger").json()
        LedgerReply.model_validate(told)
        total = told["total"]
        assert (total["requests"], total["unanswered"], total["cached"]) == (5, 1, 1)
        assert total["cost"] == pytest.approx(ONCE)
        assert total["cost"] == pytest.approx(sum(row["cost"] for row in rows))
        assert total["saved"] == pytest.approx(sum(row["saved"] for row in rows))
        assert total["prompt_tokens"] == sum(row["prompt_tokens"] for row in rows)
        by = {(one["route"], one["tier"]): one for one in told["routes"]}
        assert by.keys() == {("auto", "large"), ("auto", "local"), ("private", "local")}
        assert by["auto", "large"]["requests"] == 3
        kept, _, hit, private, failed = rows
        n_asked = sum(tiny_backend.count_tokens(text) for text in ("label it", "fine"))
        n_said = tiny_backend.count_tokens("good")
        assert kept["saved"] == pytest.approx((n_asked * 2 + n_said * 8) / 1e6, rel=0.5)
        assert kept["prompt_tokens"] > n_asked  # the closed question is longer than what was sent
        assert hit["saved"] == pytest.approx(ONCE)
        assert private["saved"] > 0
        assert (failed["outcome"], failed["cost"], failed["saved"]) == ("server_failed", 0, 0)
        assert [row["id"] for row in told["requests"]] == [5, 4, 3, 2, 1]
        assert on.http.get("/v1/ledger?limit=2&since=1h").json()["requests"][0]["id"] == 5
        assert on.http.get("/v1/ledger?since=2999-01-01").json()["total"]["requests"] == 0
        for wrong in ("since=soon", "limit=-1", "limit=x"):
            assert on.http.get(f"/v1/ledger?{wrong}").status_code == 400


def test_the_command_shows_it(configured, capsys):
    with configured(CACHED) as on:
        on.ask("hello", **AT_0)
        on.ask("hello", model="auto", **AT_0)
    assert run(["ledger"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[:3] == ["route", "tier", "requests"]
    assert shown[1].split()[:6] == ["auto", "large", "2", "100.0%", "0", "1"]
    assert run(["ledger", "--json", "--since", "1h"]) == 0
    assert '"requests": 2' in capsys.readouterr().out
    assert run(["ledger", "--since", "2999-01-01"]) == 0
    assert "no requests since then" in capsys.readouterr().err
    assert run(["ledger", "--since", "yesterday"]) == 2
    assert "write 24h" in capsys.readouterr().err


def break_ledger(on) -> None:
    """As a full disk would: the table takes no rows any more."""
    with on.gateway.ledger._engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE vedette_requests RENAME TO gone")


def test_a_ledger_that_cannot_be_written_is_told(configured, large, caplog):
    with configured('[gateway.routes.auto]\ncall = ["large"]') as on:
        break_ledger(on)
        assert on.ask("hello").status_code == 200
        on.gateway.ledger._thread.submit(lambda: None).result()
        assert on.gateway.ledger.lost == 1
        assert "the ledger lacks the end of a request" in caplog.text
        assert on.http.get("/v1/ledger").status_code == 503


def test_or_refuses_the_request_before_it_costs_anything(configured, large, tmp_path):
    routes = '[gateway.routes.auto]\ncall = ["large"]\n[gateway.ledger]\nrequire = true\n'
    with configured(routes + 'url = "sqlite:///books/own.db"') as on:
        assert on.ask("hello").status_code == 200
        assert (tmp_path / "books" / "own.db").exists()  # beside the configuration
        break_ledger(on)
        n = len(large.bodies)
        response = on.ask("hello")
        assert (response.status_code, response.json()["error"]["code"]) == (503, "ledger_failed")
        assert response.headers["retry-after"]
        assert len(large.bodies) == n


def test_serve_says_what_is_wrong_before_it_loads_a_model(tmp_path, monkeypatch, capfd):
    configure(tmp_path, monkeypatch, "[gateway.routes.auto]\ncal = ['local']")
    assert run(["serve", "--port", "0", "--model", "nowhere.gguf"]) == 2
    assert capfd.readouterr().err == (
        f"vedette: unknown key cal in [gateway.routes.auto] of {tmp_path}/vedette.toml. "
        "Did you mean call?\n"
    )


def test_without_a_gateway_the_ledger_is_the_default_one(tmp_path, monkeypatch, capfd):
    configure(tmp_path, monkeypatch, "width = 2")
    assert run(["ledger"]) == 0
    assert "the ledger has no requests" in capfd.readouterr().err
    shutil.rmtree(tmp_path / "home")
    assert run(["ledger", "--url", "mysql://x/y"]) == 2
    assert "SQLite or PostgreSQL" in capfd.readouterr().err
    assert not Path(tmp_path / "home").exists()
