"""With a real model: whatever it takes for a name, the text comes back."""

from __future__ import annotations

import pytest

import vedette


@pytest.fixture
def engines(monkeypatch):
    """The functions' engines, in a place of their own, and freed."""
    own: dict = {}
    monkeypatch.setattr("vedette.api.shared._opened", own)
    yield own
    for engine in own.values():
        engine.close()


@pytest.mark.model
def test_names_of_a_real_model_are_spans_and_come_back(engines):
    text = "Karen Oduya wrote to Tom Baker at Brightwell Ltd. Tom Baker has her mail a@b.de."
    safe = vedette.redact(text, entities=["person"], model="smollm2-135m")
    assert "a@b.de" not in safe.text
    assert {entity.rule for entity in safe.entities} == {"email", "model"}
    assert all(text[e.start : e.end] == e.value for e in safe.entities)
    assert vedette.restore(safe.text, safe.mapping) == text
