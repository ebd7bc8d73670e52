"""Closed questions to a small real model by System One: it knows praise from blame."""

from __future__ import annotations

import httpx2
import pytest
from served import served

from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

pytestmark = pytest.mark.model

MODEL = "smollm2-135m"
MOOD = {
    "type": "choice",
    "instructions": "How does the writer feel?",
    "criteria": {"positive": None, "negative": None},
}


@pytest.fixture(scope="module")
def url():
    backend = LocalBackend(MODEL, EngineOptions(threads=1, width=2))
    with served(create_app(backend, ServeOptions(model=MODEL))) as address:
        yield address
    backend.close()


@pytest.mark.parametrize(
    ("state", "mood"),
    [
        ("I love this film, it is wonderful and I laughed a lot.", "positive"),
        ("This film is terrible, I want my money back.", "negative"),
    ],
)
def test_it_knows_praise_from_blame(url, state, mood):
    body = {"state": state, "questions": {"mood": MOOD}}
    reply = httpx2.post(f"{url}/v1/systemone", json=body, timeout=60).json()
    assert reply["model"] == MODEL
    assert reply["answers"]["mood"]["choice"] == mood
