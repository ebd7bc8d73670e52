"""Places of texts that come again: asked for once, the same from disk, never a reason to fail."""

from __future__ import annotations

import sqlite3

import pytest

from vedette.batch import kept_places
from vedette.batch.kept_places import KeptPlaces, keeping_places
from vedette.tasks.rerank import Rerank
from vedette.types import Embedding, EmbedRequest, Message, Prompt, Usage


class Done:
    def __init__(self, result):
        self._result = result

    def result(self, timeout_s=None):
        return self._result

    def on_done(self, callback):
        callback()


class Placer:
    """Says where a text is, and which it was asked about."""

    def __init__(self, model="a"):
        self.identity = {"model": model}
        self.asked: list[str] = []

    def submit(self, request):
        text = request.prompt.messages[-1].content
        self.asked.append(text)
        vector = (len(text) + 0.123456, -1.0, 17.77)
        return Done(Embedding(vector=vector, usage=Usage(prompt_tokens=7)))


def ask(text, *, keep=True):
    return EmbedRequest(prompt=Prompt(messages=(Message("user", text),)), keep=keep)


def places(folder, placer, *requests):
    kept = KeptPlaces(placer, folder)
    found = [kept.submit(request).result() for request in requests]
    kept.close()
    return found


def test_a_kept_place_is_asked_for_once_and_is_the_same_ever_after(tmp_path):
    placer = Placer()
    first = places(tmp_path, placer, ask("one"), ask("two"))
    again = places(tmp_path, placer, ask("two"), ask("one"))
    assert placer.asked == ["one", "two"]
    assert [place.vector for place in again] == [place.vector for place in first[::-1]]
    assert first[0].usage.prompt_tokens == 7
    assert again[0].usage == Usage()


def test_others_are_asked_for_each_time_and_as_they_are(tmp_path):
    placer = Placer()
    (found,) = places(tmp_path, placer, ask("one", keep=False))
    assert found.vector[0] == 3.123456
    places(tmp_path, placer, ask("one", keep=False))
    assert placer.asked == ["one", "one"]
    assert not [*tmp_path.iterdir()]


def test_each_model_has_its_own(tmp_path):
    places(tmp_path, Placer(), ask("one"))
    other = Placer("b")
    places(tmp_path, other, ask("one"))
    assert other.asked == ["one"]


def test_the_oldest_go_when_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_places, "MOST_KEPT", 3)
    placer = Placer()
    places(tmp_path, placer, *map(ask, "abcde"))
    placer.asked.clear()
    places(tmp_path, placer, *map(ask, "edc"))
    assert placer.asked == []
    places(tmp_path, placer, ask("a"))
    assert placer.asked == ["a"]


@pytest.mark.parametrize("damage", ["no folder", "not a file of ours", "a foreign table"])
def test_a_file_that_cannot_be_used_only_costs_time(tmp_path, damage):
    folder = tmp_path / "places"
    if damage == "no folder":
        folder.write_text("a file")
    else:
        folder.mkdir()
        path = folder / "texts.sqlite"
        if damage == "not a file of ours":
            path.write_bytes(b"nothing that sqlite knows" * 100)
        else:
            with sqlite3.connect(path) as file:
                file.execute("CREATE TABLE places (x)")
    placer = Placer()
    first = places(folder, placer, ask("one"))
    assert places(folder, placer, ask("one")) == first
    assert placer.asked == ["one", "one"]


def test_a_task_without_a_use_for_them_gets_the_backend_itself():
    placer = Placer()
    with keeping_places(Rerank(method="words"), placer) as found:
        assert found is placer
    with keeping_places(Rerank(), placer) as found:
        assert isinstance(found, KeptPlaces)
