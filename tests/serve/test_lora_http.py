"""Adapters over HTTP: chosen by model or number, added and taken away, from one folder only."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import httpx2
import openai
import pytest
from batching import begin, chat_line, over, rows, serving
from openai import OpenAI
from served import served

from tiny_lora import make_lora
from vedette.backends.local import LocalBackend
from vedette.backends.none import NoModel
from vedette.backends.personas import Persona
from vedette.engine.options import EngineOptions
from vedette.serve.adapters import inside
from vedette.serve.app import create_app
from vedette.serve.facts import Facts
from vedette.serve.keys import KeyFile
from vedette.serve.options import ServeOptions
from vedette.serve.problems import Refusal
from vedette.serve.scopes import DEFAULT_SCOPES
from vedette.types import Request, ScoreRequest

MESSAGES = [{"role": "user", "content": "the server failed"}]


@pytest.fixture(scope="module")
def folder(tiny_full, tmp_path_factory) -> Path:
    """What clients may add lies here; beside it is what they may not."""
    folder = tmp_path_factory.mktemp("lora") / "adapters"
    (folder / "more").mkdir(parents=True)
    for seed, name in enumerate(("terse", "loud", "more/deep", "../outside")):
        make_lora("full", tiny_full, seed=seed).write(folder / f"{name}.gguf")
    (folder / "link.gguf").symlink_to(folder.parent / "outside.gguf")
    (folder / "within.gguf").symlink_to(folder / "loud.gguf")
    (folder / "loop.gguf").symlink_to(folder / "loop.gguf")
    (folder / "broken.gguf").write_text("GGUF no more")
    return folder


@pytest.fixture
def url(tiny_full, folder):
    backend = LocalBackend(tiny_full, EngineOptions(threads=1, width=4))
    persona = Persona("terse", folder / "terse.gguf", 0.8)
    backend.add_personas([persona])
    options = ServeOptions(model="tiny", max_tokens=12, personas=(persona,), adapters_dir=folder)
    with served(create_app(backend, options)) as address:
        yield address
    backend.close()


@pytest.fixture
def http(url):
    with httpx2.Client(base_url=url, timeout=30) as client:
        yield client


@pytest.fixture
def client(url):
    with OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as opened:
        yield opened


def said(http, model: str = "tiny", **fields) -> str:
    body = {"model": model, "messages": MESSAGES, **fields}
    answer = http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == model
    return answer.json()["choices"][0]["message"]["content"]


def refused(answer, status: int) -> dict:
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


# Chosen by model


def test_a_plain_client_chooses_a_persona_by_its_model(client):
    listed = {model.id: model for model in client.models.list()}
    assert list(listed) == ["tiny", "tiny:terse"]
    assert listed["tiny:terse"].parent == "tiny"
    assert client.models.retrieve("tiny:terse").id == "tiny:terse"
    texts = {}
    for model in listed:
        answer = client.chat.completions.create(model=model, messages=MESSAGES)
        assert answer.model == model
        texts[model] = answer.choices[0].message.content
        stream = client.chat.completions.create(model=model, messages=MESSAGES, stream=True)
        chunks = list(stream)
        assert {chunk.model for chunk in chunks} == {model}
        pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
        assert "".join(pieces) == texts[model]
    assert texts["tiny"] != texts["tiny:terse"]


def test_completions_and_embeddings_have_personas_too(client):
    texts = {
        model: client.completions.create(model=model, prompt="the server").choices[0].text
        for model in ("tiny", "tiny:terse")
    }
    assert texts["tiny"] != texts["tiny:terse"]
    vectors = [
        client.embeddings.create(model=model, input="the server", encoding_format="float")
        for model in ("tiny", "tiny:terse")
    ]
    assert vectors[0].data[0].embedding != pytest.approx(vectors[1].data[0].embedding, abs=1e-3)


def test_a_persona_that_is_not_there_is_a_model_that_is_not_there(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="tiny:loud", messages=MESSAGES)
    assert caught.value.code == "model_not_found"


# By number, as llama-server has it


def test_adapters_are_listed_with_a_scale_of_zero(http):
    (one,) = http.get("/lora-adapters").json()
    assert (one["id"], one["name"], one["path"], one["scale"]) == (0, "terse", "terse.gguf", 0.0)
    assert one["model"] == "tiny:terse"


def test_a_request_may_say_its_scales(http):
    plain, terse = said(http), said(http, "tiny:terse")
    assert said(http, lora=[{"id": 0, "scale": 0.8}]) == terse
    assert said(http, lora=[{"id": 0, "scale": 0}]) == plain
    assert said(http, lora=[]) == plain
    assert said(http, lora=None) == plain


def test_scales_may_be_set_for_all_requests_that_say_none(http):
    plain, terse = said(http), said(http, "tiny:terse")
    assert http.post("/lora-adapters", json=[{"id": 0, "scale": 0.8}]).json() == {"success": True}
    assert http.get("/lora-adapters").json()[0]["scale"] == 0.8
    assert said(http) == terse
    assert said(http, lora=[]) == plain
    assert said(http, "tiny:terse") == terse
    http.post("/lora-adapters", json=[])
    assert said(http) == plain


@pytest.mark.parametrize(
    ("lora", "param"),
    [
        ([{"id": 7, "scale": 1}], "lora"),
        ([{"id": 0, "scale": 1}, {"id": 0, "scale": 2}], "lora"),
        ([{"id": -1, "scale": 1}], "lora.0.id"),
        ([{"id": 0, "scale": "1"}], "lora.0.scale"),
        ([{"id": 0}], "lora.0.scale"),
        ([{"id": 0, "scale": 1, "name": "x"}], "lora.0.name"),
    ],
)
def test_scales_that_mean_nothing_are_refused(http, lora, param):
    body = {"model": "tiny", "messages": MESSAGES, "lora": lora}
    error = refused(http.post("/v1/chat/completions", json=body), 400)
    assert error["param"] == param
    assert http.post("/lora-adapters", json=lora).status_code == 400
    assert http.get("/lora-adapters").json()[0]["scale"] == 0.0


def test_a_persona_and_scales_are_one_too_many(http):
    body = {"model": "tiny:terse", "messages": MESSAGES, "lora": [{"id": 0, "scale": 1}]}
    assert refused(http.post("/v1/chat/completions", json=body), 400)["param"] == "lora"


# Added and taken away


def test_an_adapter_is_added_used_and_taken_away(http):
    body = {"name": "loud", "path": "loud.gguf", "scale": 0.5}
    added = http.post("/v1/adapters", json=body)
    assert added.status_code == 201
    assert (added.json()["id"], added.json()["model"]) == (1, "tiny:loud")
    assert said(http, "tiny:loud") == said(http, lora=[{"id": 1, "scale": 0.5}])
    gone = http.delete("/v1/adapters/loud")
    assert gone.json() == {"name": "loud", "deleted": True, "requests_under_way": 0}
    asked = {"model": "tiny:loud", "messages": MESSAGES}
    assert refused(http.post("/v1/chat/completions", json=asked), 404)
    again = http.post("/v1/adapters", json={"name": "loud", "path": "more/deep.gguf"})
    assert again.json()["id"] == 2  # a number never comes to mean another adapter


def test_taking_one_away_leaves_the_others_scales(http):
    http.post("/v1/adapters", json={"name": "loud", "path": "loud.gguf"})
    http.post("/lora-adapters", json=[{"id": 0, "scale": 0.8}, {"id": 1, "scale": 0.3}])
    http.delete("/v1/adapters/loud")
    assert [one["scale"] for one in http.get("/lora-adapters").json()] == [0.8]
    assert said(http) == said(http, "tiny:terse")


def test_what_cannot_be_added_is_refused_and_the_server_goes_on(http):
    for body, status, code in (
        ({"name": "terse", "path": "loud.gguf"}, 400, "invalid_input"),
        ({"name": "a/b", "path": "loud.gguf"}, 400, "invalid_input"),
        ({"name": "x", "path": "broken.gguf"}, 400, "model_corrupt"),
        ({"name": "x"}, 400, "invalid_value"),
        ({"name": "x", "path": "loud.gguf", "apply": True}, 400, "unknown_field"),
    ):
        assert refused(http.post("/v1/adapters", json=body), status)["code"] == code
    assert refused(http.delete("/v1/adapters/x"), 404)["code"] == "adapter_not_found"
    assert said(http)
    assert len(http.get("/lora-adapters").json()) == 1


OUTSIDE = (
    "../outside.gguf",
    "more/../../outside.gguf",
    "./../outside.gguf",
    "link.gguf",
    "loop.gguf",
    "/etc/hosts",
    "nothing.gguf",
    "more",
    "",
    ".",
    "terse.gguf/../../outside.gguf",
    "terse.gguf\0",
    "x" * 5000 + ".gguf",
    "\ud800.gguf",
    "..\\outside.gguf",
    "%2e%2e/outside.gguf",
    "~/outside.gguf",
)


@pytest.mark.parametrize("path", [*OUTSIDE, "WHOLE"], ids=lambda path: ascii(path)[:24])
def test_nothing_outside_the_folder_can_be_reached_or_told_from_nothing(folder, path):
    path = str(folder.parent / "outside.gguf") if path == "WHOLE" else path
    with pytest.raises(Refusal) as caught:
        inside(folder, path)
    assert (caught.value.status, caught.value.code) == (404, "file_not_found")
    assert caught.value.message.replace(repr(path), "P") == (
        "there is no adapter file P in this server's folder for them"
    )


def test_what_lies_inside_is_found_links_followed(folder):
    assert inside(folder, "more/deep.gguf") == (folder / "more" / "deep.gguf").resolve()
    assert inside(folder, "within.gguf") == (folder / "loud.gguf").resolve()


def test_over_http_it_is_the_same(http):
    for path in ("../outside.gguf", "link.gguf", "\ud800.gguf"):
        content = json.dumps({"name": "x", "path": path})  # httpx cannot write half a character
        headers = {"content-type": "application/json"}
        answer = http.post("/v1/adapters", content=content, headers=headers)
        assert refused(answer, 404)["code"] == "file_not_found"


def test_without_a_folder_nothing_is_added(tiny_backend):
    with (
        served(create_app(tiny_backend, ServeOptions(model="tiny"))) as url,
        httpx2.Client(base_url=url) as http,
    ):
        answer = http.post("/v1/adapters", json={"name": "x", "path": "terse.gguf"})
        assert refused(answer, 404)["code"] == "no_adapters_dir"
        assert http.get("/lora-adapters").json() == []


def test_a_backend_that_applies_none_has_none(folder):
    options = ServeOptions(model="tiny", adapters_dir=folder)
    with (
        served(create_app(NoModel(), options)) as url,
        httpx2.Client(base_url=url) as http,
    ):
        assert http.get("/lora-adapters").json() == []
        answer = http.post("/v1/adapters", json={"name": "x", "path": "terse.gguf"})
        assert refused(answer, 501)["code"] == "capability_missing"


def test_requests_are_answered_while_adapters_come_and_go(http, url):
    expected = {model: said(http, model) for model in ("tiny", "tiny:terse")}
    faults: list[object] = []
    stop = threading.Event()

    def ask(model: str) -> None:
        with httpx2.Client(base_url=url, timeout=30) as own:
            while not stop.is_set():
                body = {"model": model, "messages": MESSAGES}
                answer = own.post("/v1/chat/completions", json=body)
                if answer.status_code == 200:
                    text = answer.json()["choices"][0]["message"]["content"]
                    if text != expected.get(model, text):
                        faults.append((model, text))
                elif model != "tiny:loud" or answer.status_code not in (400, 404):
                    faults.append(answer.text)

    threads = [threading.Thread(target=ask, args=(model,)) for model in (*expected, "tiny:loud")]
    for thread in threads:
        thread.start()
    for _ in range(15):
        added = http.post("/v1/adapters", json={"name": "loud", "path": "loud.gguf"})
        assert added.status_code == 201, added.text
        assert http.delete("/v1/adapters/loud").status_code == 200
    stop.set()
    for thread in threads:
        thread.join(30)
    assert faults == []


def test_a_link_in_the_folder_is_no_way_out(folder):
    (folder / "up").symlink_to(folder.parent)
    try:
        with pytest.raises(Refusal):
            inside(folder, "up/outside.gguf")
    finally:
        (folder / "up").unlink()


def test_an_error_tells_nothing_of_where_the_folder_is(http, folder):
    answer = http.post("/v1/adapters", json={"name": "x", "path": "broken.gguf"})
    assert refused(answer, 400)["message"].startswith("broken.gguf is not a sound GGUF file")
    assert str(folder) not in answer.text
    assert str(folder) not in http.get("/lora-adapters").text


# Beside the rest of the server


def test_a_tool_is_chosen_and_called_under_the_persona(tiny_full, folder):
    seen = []

    class Watching(LocalBackend):
        def submit(self, request):
            seen.append((type(request), request.adapters))
            return super().submit(request)

    backend = Watching(tiny_full, EngineOptions(threads=1, width=4))
    persona = Persona("terse", folder / "terse.gguf", 0.8)
    backend.add_personas([persona])
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ("stop", "go")
    ]
    body = {"messages": MESSAGES, "tools": tools, "max_tokens": 40}
    try:
        options = ServeOptions(model="tiny", personas=(persona,))
        with (
            served(create_app(backend, options)) as url,
            httpx2.Client(base_url=url, timeout=30) as http,
        ):
            for model, adapters in (("tiny", ()), ("tiny:terse", (("terse", 0.8),))):
                seen.clear()
                answer = http.post("/v1/chat/completions", json={"model": model, **body})
                assert answer.status_code == 200, answer.text
                assert {kind for kind, _ in seen} >= {Request, ScoreRequest}
                assert {used for _, used in seen} == {adapters}
    finally:
        backend.close()


def test_a_batch_may_ask_for_a_persona_and_may_not_add_one(tiny_full, folder, tmp_path):
    backend = LocalBackend(tiny_full, EngineOptions(threads=1, width=4))
    persona = Persona("terse", folder / "terse.gguf", 0.8)
    backend.add_personas([persona])
    options = ServeOptions(model="tiny", personas=(persona,), adapters_dir=folder)
    try:
        with serving(backend, tmp_path / "files", options) as client:
            lines = [
                chat_line(model, "the server", model=model, max_tokens=12)
                for model in ("tiny", "tiny:terse", "tiny:loud")
            ]
            batch = over(client, begin(client, lines).id)
            said = {
                line["custom_id"]: line["response"]["body"]["choices"][0]["message"]["content"]
                for line in rows(client, batch.output_file_id)
            }
            assert said.keys() == {"tiny", "tiny:terse"}
            assert said["tiny"] != said["tiny:terse"]
            (failed,) = rows(client, batch.error_file_id)
            assert failed["response"]["status_code"] == 404
            with pytest.raises(openai.BadRequestError, match="no POST /v1/adapters"):
                begin(client, lines, endpoint="/v1/adapters")
    finally:
        backend.close()


def test_a_batch_that_began_under_other_personas_is_another_models(tiny_full, folder):
    backend = LocalBackend(tiny_full, EngineOptions(threads=1))
    terse, loud = (Persona("terse", folder / f"{name}.gguf") for name in ("terse", "loud"))
    backend.add_personas([terse])
    try:
        plain, one, same, other = (
            Facts(backend, ServeOptions(model="tiny", personas=personas)).identity
            for personas in ((), (terse,), (terse,), (loud,))
        )
    finally:
        backend.close()
    assert plain == backend.identity
    assert one == same
    assert one != plain
    assert other not in (one, plain)


def test_only_admins_change_adapters(tiny_backend, tmp_path):
    file = KeyFile(tmp_path / "keys.json")
    shown = file.add("website", frozenset(DEFAULT_SCOPES), None)
    options = ServeOptions(model="tiny", keys_file=file.path, adapters_dir=tmp_path)
    with (
        served(create_app(tiny_backend, options)) as url,
        httpx2.Client(base_url=url, headers={"authorization": f"Bearer {shown}"}) as http,
    ):
        assert http.get("/v1/models").status_code == 200
        for method, path in (
            ("GET", "/lora-adapters"),
            ("POST", "/lora-adapters"),
            ("POST", "/v1/adapters"),
            ("DELETE", "/v1/adapters/terse"),
        ):
            error = refused(http.request(method, path), 403)
            assert error["code"] == "insufficient_scope", path


def of_tasks(http, model: str | None = None) -> list[object]:
    """What a persona says of a text: by a task, by closed questions, by a ranking."""
    named = {"model": model} if model else {}
    labels = {"labels": ["positive", "negative"], "prior": "none"}
    task = {"input": "the server failed", "options": labels, **named}
    questions = {"failed": {"type": "noul", "instructions": "Has it failed?"}}
    asked = {"state": "the server failed", "questions": questions, **named}
    documents = ["the server", "a label", "no service", "true", "a name"]
    texts = {"query": "server", "documents": documents, "method": "likelihood"}
    classified = http.post("/v1/tasks/classify", json=task).json()
    assert classified.get("ok"), classified
    decided = http.post("/v1/systemone", json=asked).json()
    ranked = http.post("/v1/rerank", json={**texts, **named}).json()
    assert decided["model"] == ranked["model"] == (model or "tiny")
    return [
        classified["value"]["probabilities"]["positive"],
        decided["answers"]["failed"]["noul"],
        {one["index"]: round(one["relevance_score"], 1) for one in ranked["results"]},
    ]


def test_tasks_closed_questions_and_rankings_have_personas_too(http):
    plain, terse = of_tasks(http), of_tasks(http, "tiny:terse")
    assert plain[:2] != pytest.approx(terse[:2], abs=0.01)
    assert plain[2] != terse[2]
    assert of_tasks(http, "tiny")[:2] == pytest.approx(plain[:2], abs=0.005)
    http.post("/lora-adapters", json=[{"id": 0, "scale": 0.8}])
    assert of_tasks(http)[:2] == pytest.approx(terse[:2], abs=0.005)
    error = http.post("/v1/tasks/classify", json={"input": "x", "model": "tiny:loud"})
    assert refused(error, 404)["code"] == "model_not_found"
