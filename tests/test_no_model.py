"""The backend of jobs without a model: whoever asks it finds out."""

from __future__ import annotations

import pytest

from vedette.backends.none import NoModel
from vedette.batch.single import answer_item
from vedette.errors import CapabilityMissing
from vedette.tasks.classify import Classify
from vedette.tasks.labels import Label
from vedette.types import Item, Prompt, Request


def test_nothing_can_be_asked_of_no_model():
    backend = NoModel()
    with pytest.raises(CapabilityMissing):
        backend.submit(Request(prompt=Prompt(raw="x")))
    with pytest.raises(CapabilityMissing):
        backend.count_tokens("x")
    with pytest.raises(CapabilityMissing):
        answer_item(Classify((Label("a"), Label("b"))), Item(id="1", text="x"), backend)
