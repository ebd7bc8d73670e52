"""`POST /v1/rerank` as Jina's and Cohere's clients ask it."""

from __future__ import annotations

import httpx2
import pytest
from served import served

from vedette.backends.none import NoModel
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

DOCUMENTS = ["the server failed", "yes and no", "connection error: the server failed on request"]
BODY = {"model": "tiny", "query": "which server failed", "documents": DOCUMENTS}


@pytest.mark.parametrize("path", ["/v1/rerank", "/rerank", "/reranking", "/v1/reranking"])
def test_every_document_has_a_place_and_scores_never_rise(http, path):
    reply = http.post(path, json=BODY)
    assert reply.status_code == 200
    body = reply.json()
    assert body.keys() == {"model", "object", "results", "usage"}
    assert body["model"] == "tiny"
    assert sorted(one["index"] for one in body["results"]) == [0, 1, 2]
    scores = [one["relevance_score"] for one in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(one.keys() == {"index", "relevance_score"} for one in body["results"])
    assert body["usage"].keys() == {"prompt_tokens", "total_tokens"}


def test_the_order_in_which_documents_come_does_not_matter(http):
    def ranked(documents):
        results = http.post("/v1/rerank", json={**BODY, "documents": documents}).json()["results"]
        return [documents[one["index"]] for one in results]

    assert ranked(DOCUMENTS) == ranked(DOCUMENTS[::-1])


def test_the_first_of_them_with_their_texts(http):
    documents = [{"text": text} for text in DOCUMENTS]
    body = {**BODY, "documents": documents, "top_n": 2, "return_documents": True}
    results = http.post("/v1/rerank", json=body).json()["results"]
    assert len(results) == 2
    assert all(one["document"] == documents[one["index"]] for one in results)
    assert len(http.post("/v1/rerank", json={**BODY, "top_n": 9}).json()["results"]) == 3


def test_words_alone_ask_no_model():
    app = create_app(NoModel(), ServeOptions(model="none"))
    with served(app) as url:
        body = {**BODY, "model": "none", "method": "words"}
        results = httpx2.post(f"{url}/v1/rerank", json=body).json()["results"]
        assert results[-1]["index"] == 1
        lacking = httpx2.post(f"{url}/v1/rerank", json={**body, "method": "embedding"})
    assert (lacking.status_code, lacking.json()["error"]["type"]) == (501, "not_supported_error")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"documents": []}, "documents"),
        ({"documents": [{"text": "a", "url": "b"}]}, "documents.0.url"),
        ({"query": ""}, "query"),
        ({"query": " "}, "query"),
        ({"top_n": 0}, "top_n"),
        ({"top": 3}, "top"),
        ({"rank_fields": ["title"]}, "rank_fields"),
        ({"max_chunks_per_doc": 3}, "max_chunks_per_doc"),
        ({"method": "magic"}, "method"),
        ({"documents": [{"image": "x"}]}, "image"),
    ],
)
def test_what_cannot_be_is_refused_by_name(http, fields, param):
    reply = http.post("/v1/rerank", json={**BODY, **fields})
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/v1/rerank", {"query": "q"}, "documents: it is missing"),
        (
            "/v1/rerank",
            {**BODY, "documents": []},
            "documents: it should have at least 1 item, not 0",
        ),
        ("/v1/rerank", {**BODY, "documents": [{}]}, "documents.0.text: it is missing"),
        ("/v1/rerank", {**BODY, "query": ""}, "query: it should have at least 1 character"),
        ("/v1/tasks/redact", {"input": "x", "options": 1}, "options: it should be an object"),
        ("/v1/tasks/redact", {"inputs": "x"}, "inputs: it should be a list"),
        ("/lora-adapters", {}, "the body must be a JSON list, with Content-Type: application/json"),
    ],
)
def test_what_is_wrong_is_said_without_the_types_of_a_programming_language(
    http, path, body, message
):
    assert http.post(path, json=body).json()["error"]["message"] == message


def test_another_model_is_not_here(http):
    reply = http.post("/v1/rerank", json={**BODY, "model": "rerank-v3"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")
