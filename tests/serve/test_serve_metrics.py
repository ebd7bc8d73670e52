"""`/metrics`: what is counted, under which names, and that no client can make up labels."""

from __future__ import annotations

from collections import defaultdict

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from served import served, wait_until

from vedette.backends.none import NoModel
from vedette.engine.stats import EngineStats
from vedette.serve import metric_list
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.spec.bench.server_api import Counters

ASK = {"model": "tiny", "messages": [{"role": "user", "content": "hello 世界"}], "max_tokens": 6}


@pytest.fixture
def counted(tiny_backend):
    """A server of its own, so that its counts begin at 0."""
    with (
        served(create_app(tiny_backend, ServeOptions(model="tiny"))) as url,
        httpx2.Client(base_url=url, timeout=30) as client,
    ):
        yield client


def samples(client) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by name, then by the values of their labels besides `model`."""
    found: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=")
    for family in text_string_to_metric_families(reply.text):
        for sample in family.samples:
            if not sample.name.startswith("llamacpp:"):
                assert sample.labels.pop("model") == "tiny"
            found[sample.name][tuple(sample.labels.values())] = sample.value
    return found


def test_tokens_and_times_of_answers_are_counted(counted):
    usages = [counted.post("/v1/chat/completions", json=ASK).json()["usage"] for _ in range(3)]
    counted.post("/v1/chat/completions", json={**ASK, "stream": True})
    found = samples(counted)
    n_prompt = usages[0]["prompt_tokens"]
    assert found["vedette_prompt_tokens_total"] == {(): 4 * n_prompt}
    assert found["vedette_completion_tokens_total"] == {(): 4 * 6}
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
    assert cached <= found["vedette_prompt_tokens_cached_total"][()] <= 4 * n_prompt
    for name in ("queue_seconds", "time_to_first_token_seconds", "time_per_output_token_seconds"):
        assert found[f"vedette_{name}_count"] == {(): 4}
        assert found[f"vedette_{name}_sum"][()] < 4 * 30
    assert found["vedette_engine_steps_total"][()] > 0
    assert found["vedette_engine_decoded_tokens_total"][()] > 0


def test_embeddings_are_no_answers_with_a_first_token(counted):
    counted.post("/v1/embeddings", json={"model": "tiny", "input": ["a", "b"]})
    found = samples(counted)
    assert found["vedette_prompt_tokens_total"][()] > 0
    assert found["vedette_completion_tokens_total"][()] == 0
    assert found["vedette_queue_seconds_count"][()] == 2
    assert found["vedette_time_to_first_token_seconds_count"][()] == 0


def test_tasks_are_counted_too(counted):
    ask = {"state": "hello", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}
    assert counted.post("/v1/systemone", json=ask).status_code == 200
    once = samples(counted)["vedette_prompt_tokens_total"][()]
    assert once > 0
    body = {"input": "hello", "options": {"labels": ["a", "b"]}}
    assert counted.post("/v1/tasks/classify", json=body).status_code == 200
    assert samples(counted)["vedette_prompt_tokens_total"][()] > once


def test_requests_are_counted_by_route_and_status(counted):
    counted.get("/health")
    counted.get("/v1/models/tiny")
    counted.get("/v1/models/other")
    counted.post("/v1/chat/completions", json={})
    for i in range(3):
        counted.get(f"/made/up/{i}")
        counted.request(f"MADEUP{i}", "/health")
    wait_until(lambda: len(samples(counted)["vedette_http_requests_total"]) >= 7)
    found = samples(counted)["vedette_http_requests_total"]
    assert found[("GET", "/health", "200")] == 1
    assert found[("GET", "/v1/models/{model}", "200")] == 1
    assert found[("GET", "/v1/models/{model}", "404")] == 1
    assert found[("POST", "/v1/chat/completions", "400")] == 1
    assert found[("GET", "none", "404")] == 3
    assert sum(n for (method, _, _), n in found.items() if method == "other") == 3
    assert not [labels for labels in found if "made" in " ".join(labels).lower()]


def test_routes_are_named_as_in_the_document(counted):
    """Else a graph and the description of the API could not be held together."""
    paths = counted.get("/openapi.json").json()["paths"]
    counted.get("/v1/models/tiny")
    counted.post("/tokenize", json={"content": "a"})
    routes = {route for _, route, _ in samples(counted)["vedette_http_requests_total"]}
    assert {"/v1/models/{model}", "/tokenize"} <= routes
    assert routes - set(paths) <= {"none", "/openapi.json"}


def test_who_left_and_what_failed_is_counted_and_places_are_given_back(counted):
    body = {**ASK, "max_tokens": 3500}
    with pytest.raises(httpx2.ReadTimeout):
        counted.post("/v1/chat/completions", json=body, timeout=0.3)
    wait_until(lambda: samples(counted)["vedette_answer_errors_total"].get(("cancelled",)) == 1)
    found = samples(counted)
    assert found["vedette_answers_under_way"] == {(): 0}
    assert found["vedette_answers_limit"] == {(): 64}
    wait_until(lambda: samples(counted)["vedette_engine_sequences_running"][()] == 0)
    assert found["vedette_engine_requests_waiting"] == {(): 0}
    # The one under way is that which asks.
    assert found["vedette_http_requests_in_progress"] == {(): 1}


def test_what_is_under_way_shows_while_it_is(counted):
    with counted.stream(
        "POST", "/v1/chat/completions", json={**ASK, "max_tokens": 3500, "stream": True}
    ) as reply:
        pieces = reply.iter_raw()
        next(pieces)
        with httpx2.Client(base_url=counted.base_url) as other:
            assert samples(other)["vedette_answers_under_way"] == {(): 1}
            assert samples(other)["vedette_http_requests_in_progress"] == {(): 2}


def test_guesses_are_told_as_llama_server_tells_them(counted):
    """`vedette spec bench` reads a llama-server's counters, and can read these."""
    stats = EngineStats()
    for n_guesses, n_right in ((3, 3), (2, 0), (0, 0), (4, 1)):
        stats.record_guesses(n_guesses, n_right)
    assert (stats.drafts, stats.guessed, stats.guesses_right) == (3, 9, 4)
    assert stats.right_by_place == [2, 1, 1, 0]

    text = "level level level level level level " * 8
    before = Counters.of(counted.get("/metrics").text)
    counted.post(
        "/v1/completions",
        json={"model": "tiny", "prompt": text, "grammar": f'root ::= "{text}"', "max_tokens": 300},
    )
    counted.post("/v1/completions", json={"model": "tiny", "prompt": text, "max_tokens": 200})
    after = Counters.of(counted.get("/metrics").text)
    found = samples(counted)
    told = found["llamacpp:spec_decode_num_accepted_tokens_per_pos_total"]
    assert sum(told.values()) == found["llamacpp:spec_decode_num_accepted_tokens_total"][()]
    assert after.drafts == found["llamacpp:spec_decode_num_drafts_total"][()]
    assert after.drafts >= before.drafts


def test_everything_in_the_list_is_told_and_nothing_else(counted):
    counted.post("/v1/chat/completions", json=ASK)
    text = counted.get("/metrics").text
    kinds = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))
    listed = [metric for metric in metric_list.ALL if metric not in metric_list.OF_GATEWAY]
    assert kinds == {metric.told_name: metric.kind for metric in listed}
    assert all(metric.meaning for metric in metric_list.ALL)


def test_a_backend_without_an_engine_tells_what_it_has():
    with served(create_app(NoModel(), ServeOptions(model="tiny"))) as url:
        text = httpx2.get(f"{url}/metrics").text
    assert "vedette_http_requests_total" in text
    assert "vedette_engine" not in text
    assert "llamacpp:" not in text


def test_each_app_counts_for_itself(tiny_backend, counted):
    counted.get("/health")
    with served(create_app(tiny_backend, ServeOptions(model="tiny"))) as url:
        assert "/health" not in httpx2.get(f"{url}/metrics").text


def test_openmetrics_where_it_is_asked_for(counted):
    reply = counted.get("/metrics", headers={"accept": "application/openmetrics-text"})
    assert reply.headers["content-type"].startswith("application/openmetrics-text")
    assert reply.text.endswith("# EOF\n")
