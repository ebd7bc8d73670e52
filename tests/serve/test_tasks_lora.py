"""Tasks, rankings and closed questions under adapters."""

from __future__ import annotations

import httpx2
import pytest
from served import served
from verb_bodies import LABELS, TEXT, alike

from tiny_lora import make_lora
from vedette.backends.local import LocalBackend
from vedette.backends.personas import Persona
from vedette.engine.options import EngineOptions
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

QUESTIONS = {"angry": {"type": "noul", "instructions": "Is the customer angry?"}}
BODIES = {
    "/v1/tasks/classify": {"input": TEXT, "options": {"labels": LABELS}},
    "/v1/systemone": {"state": TEXT, "questions": QUESTIONS},
    "/v1/rerank": {"query": "server", "documents": [TEXT, "yes", "no not"], "method": "yes-no"},
}


@pytest.fixture
def http(tiny_full, tmp_path):
    path = tmp_path / "terse.gguf"
    make_lora("full", tiny_full, seed=3).write(path)
    persona = Persona("terse", path, 0.8)
    backend = LocalBackend(tiny_full, EngineOptions(threads=1, width=4))
    backend.add_personas([persona])
    app = create_app(backend, ServeOptions(model="tiny", personas=(persona,)))
    with served(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
        yield client
    backend.close()


@pytest.mark.parametrize("path", BODIES)
def test_a_persona_answers_by_its_model_and_by_what_holds_for_all(http, path):
    def said(**fields):
        reply = http.post(path, json={**BODIES[path], **fields})
        assert reply.status_code == 200, reply.text
        body = reply.json()
        assert body.pop("model", None) in (None, fields.get("model", "tiny"))
        return {key: value for key, value in body.items() if key != "usage"}

    plain, terse = said(), said(model="tiny:terse")
    assert not alike(plain, terse, 1e-3)
    http.post("/lora-adapters", json=[{"id": 0, "scale": 0.8}])
    assert alike(said(), terse, 1e-4)
    http.post("/lora-adapters", json=[])
    assert alike(said(), plain, 1e-4)


def test_a_request_may_name_adapters_of_its_own(http):
    def label(**fields):
        line = http.post("/v1/tasks/classify", json={**BODIES["/v1/tasks/classify"], **fields})
        return line.json()["value"]["probabilities"]

    terse = label(model="tiny:terse")
    assert alike(label(lora=[{"id": 0, "scale": 0.8}]), terse, 1e-3)
    assert not alike(label(), terse, 1e-3)
    for fields, status in (
        ({"lora": [{"id": 9, "scale": 1.0}]}, 400),
        ({"model": "tiny:terse", "lora": []}, 400),
        ({"model": "tiny:other"}, 404),
    ):
        reply = http.post("/v1/tasks/classify", json={**BODIES["/v1/tasks/classify"], **fields})
        assert reply.status_code == status
