"""Adapters as users name them, and a backend that answers all requests under them."""

from __future__ import annotations

from pathlib import Path

import pytest

import vedette
from tiny_lora import make_lora
from vedette.backends.adapted import Adapted
from vedette.backends.base import refuse_adapters
from vedette.backends.local import LocalBackend
from vedette.backends.open import open_backend
from vedette.backends.personas import Persona, parse_personas
from vedette.batch.results import job_hash, job_identity
from vedette.config import load
from vedette.engine.options import EngineOptions
from vedette.errors import CapabilityMissing, InputError, ModelNotFound
from vedette.types import EmbedRequest, Prompt, Request

PROMPT = Prompt(raw="the server failed")


@pytest.fixture(scope="module")
def files(tiny_full, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("lora")
    return {
        name: make_lora("full", tiny_full, seed=seed).write(folder / f"{name}.gguf")
        for seed, name in enumerate(("terse", "loud"))
    }


@pytest.fixture
def local(tiny_full, files):
    backend = LocalBackend(tiny_full, EngineOptions(threads=1))
    for name, path in files.items():
        backend.add_adapter(name, path)
    yield backend
    backend.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("terse=a.gguf", (Persona("terse", Path("a.gguf")),)),
        ("terse=a.gguf:0.5", (Persona("terse", Path("a.gguf"), 0.5),)),
        ("terse=a.gguf:-2", (Persona("terse", Path("a.gguf"), -2.0),)),
        ("x=C:/a=b.gguf", (Persona("x", Path("C:/a=b.gguf")),)),
        ("x=a.gguf, y=b.gguf:0", (Persona("x", Path("a.gguf")), Persona("y", Path("b.gguf"), 0.0))),
    ],
)
def test_a_persona_is_a_name_a_file_and_a_scale(text, expected):
    assert parse_personas(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.gguf", "lora is 'a.gguf'"),
        ("x=", "lora is 'x='"),
        ("=a.gguf", "'' is no name"),
        ("a b=a.gguf", "'a b' is no name"),
        ("x=a.gguf:nan", "lora is"),
        ("x=:1", "lora is"),
        ("x=a.gguf,x=b.gguf", "names 'x' twice"),
    ],
)
def test_what_is_no_persona_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        parse_personas(text)


def test_a_home_folder_is_meant_by_its_sign(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_personas("x=~/a.gguf")[0].path == tmp_path / "a.gguf"


def test_all_requests_are_answered_under_the_adapters(local):
    adapted = Adapted(local, (("terse", 0.8),))
    expected = local.submit(EmbedRequest(prompt=PROMPT, adapters=(("terse", 0.8),))).result(30)
    found = adapted.submit(EmbedRequest(prompt=PROMPT)).result(30)
    plain = local.submit(EmbedRequest(prompt=PROMPT)).result(30)
    assert found.vector == pytest.approx(expected.vector, abs=0.1)
    assert found.vector != pytest.approx(plain.vector, abs=0.1)


def test_a_request_with_adapters_of_its_own_is_refused_there(local):
    adapted = Adapted(local, (("terse", 0.8),))
    with pytest.raises(InputError, match="has its own for all"):
        adapted.submit(EmbedRequest(prompt=PROMPT, adapters=(("loud", 1.0),)))
    with pytest.raises(InputError, match="no adapter 'quiet'"):
        Adapted(local, (("quiet", 1.0),))


def test_it_is_another_model_by_file_and_scale_and_not_by_name(local, files):
    task = vedette.Classify(["yes", "no"])

    def hash_under(*adapters: tuple[str, float]) -> bytes:
        return job_hash(job_identity(task, Adapted(local, adapters)))

    plain = job_hash(job_identity(task, local))
    hashes = [
        plain,
        hash_under(("terse", 1.0)),
        hash_under(("terse", 0.5)),
        hash_under(("loud", 1.0)),
        hash_under(("loud", 1.0), ("terse", 1.0)),
    ]
    assert len(set(hashes)) == len(hashes)
    local.add_adapter("brief", files["terse"])
    assert hash_under(("brief", 1.0)) == hashes[1]
    assert hash_under(("terse", 1.0), ("loud", 1.0)) == hashes[4]
    assert hash_under(("terse", 0.0)) == plain
    assert "model_sha256" not in Adapted(local, (("terse", 1.0),)).identity


def test_the_settings_say_which_adapters_all_rows_are_answered_under(tiny_full, files):
    settings = load(model=str(tiny_full), lora=f"terse={files['terse']}:0.5")
    backend = open_backend(settings)
    try:
        assert isinstance(backend, Adapted)
        assert backend.name.endswith("+ terse (0.5)")
        assert backend.capabilities.can_adapt
    finally:
        backend.close()


def test_an_adapter_that_is_not_there_is_named_before_anything_is_answered(tiny_full, tmp_path):
    with pytest.raises(ModelNotFound, match=r"no adapter file .*nothing\.gguf"):
        open_backend(load(model=str(tiny_full), lora=f"x={tmp_path / 'nothing.gguf'}"))


@pytest.mark.parametrize("address", ["openai:http://127.0.0.1:9/v1#m", "llama-server:model"])
def test_a_server_applies_none_and_says_so_before_it_is_asked(address):
    with pytest.raises(InputError, match="applies no adapters"):
        open_backend(load(backend=address, lora="x=a.gguf"))


def test_a_request_that_names_adapters_is_refused_by_who_has_none():
    refuse_adapters(Request(prompt=PROMPT))
    with pytest.raises(CapabilityMissing, match="'x' cannot be applied"):
        refuse_adapters(Request(prompt=PROMPT, adapters=(("x", 1.0),)))


def test_an_engine_in_python_has_personas(tiny_full, files):
    with vedette.Engine(str(tiny_full), threads=1, adapters=files) as engine:
        assert engine.adapters == ("terse", "loud")
        plain = engine.embed("the server").vector
        terse = engine.embed("the server", adapters={"terse": 1.0}).vector
        assert terse != pytest.approx(plain, abs=0.1)
        texts = {
            engine.complete("the server", max_tokens=12, adapters=adapters).text
            for adapters in ({}, {"terse": 1.0}, {"loud": 1.0})
        }
        assert len(texts) == 3
        scores = [
            engine.score("the server", ["yes", "no"], adapters=adapters).logprobs
            for adapters in (None, {"terse": 1.0})
        ]
        assert scores[0] != pytest.approx(scores[1], abs=0.05)
        persona = engine.persona({"loud": 0.5})
        found = vedette.classify("the server", ["yes", "no"], backend=persona)
        plainly = vedette.classify("the server", ["yes", "no"], backend=engine.backend)
        assert found["probabilities"] != pytest.approx(plainly["probabilities"], abs=1e-3)
        engine.remove_adapter("loud")
        assert engine.adapters == ("terse",)
        with pytest.raises(InputError, match="no adapter 'loud'"):
            engine.persona({"loud": 0.5})
