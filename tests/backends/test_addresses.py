"""What `--backend` may say, and every way in which it is refused."""

from __future__ import annotations

import pytest
from fake_http import FakeServer, chat

from vedette.backends.address import (
    InProcess,
    OpenAIServer,
    OwnServer,
    RunningServer,
    parse_address,
)
from vedette.backends.open import open_backend
from vedette.config import load
from vedette.errors import FileError, InputError, ModelNotFound
from vedette.types import Message, Prompt, Request


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local", InProcess()),
        ("local:qwen2.5-coder-0.5b", InProcess("qwen2.5-coder-0.5b")),
        ("local:hf:user/repo:Q4_K_M", InProcess("hf:user/repo:Q4_K_M")),
        ("llama-server:http://127.0.0.1:8080/", RunningServer("http://127.0.0.1:8080")),
        ("llama-server:smollm2-135m", OwnServer("smollm2-135m")),
        ("llama-server:hf:user/repo:Q8_0", OwnServer("hf:user/repo:Q8_0")),
        ("llama-server:/opt/llama-server@/m.gguf", OwnServer("/m.gguf", "/opt/llama-server")),
        ("openai:https://host/v1", OpenAIServer("https://host/v1")),
        ("openai:https://host/v1#org/model-a", OpenAIServer("https://host/v1", "org/model-a")),
        (" openai:http://[::1]:9/v1#m ", OpenAIServer("http://[::1]:9/v1", "m")),
    ],
)
def test_an_address_is_read(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lokal:x", "one of local"),
        ("", "one of local"),
        ("https://host/v1", "openai:https://host/v1"),
        ("llama-server:", "goes after"),
        ("llama-server:@model", "goes after"),
        ("llama-server:/opt/llama-server@", "goes after"),
        ("openai:host/v1", "begins with http"),
        ("openai:", "begins with http"),
        ("openai:https:///v1", "names a host"),
        ("openai:http://host:port/v1", "not a URL"),
        ("openai:http://host/v1?key=1", "no query"),
        ("openai:http://me:secret@host/v1", "VEDETTE_API_KEY"),
    ],
)
def test_what_is_no_address_is_refused_with_what_to_do(text, hint):
    with pytest.raises(InputError) as refused:
        parse_address(text)
    assert hint in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("VEDETTE_API_KEY", "OPENAI_API_KEY", "VEDETTE_BACKEND", "VEDETTE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("flag", [{"model": "m"}, {"threads": 2}])
def test_a_flag_that_a_running_server_cannot_heed_is_refused(flag):
    with pytest.raises(InputError, match="no effect"):
        open_backend(load(backend="openai:http://127.0.0.1:9/v1#m", **flag))
    with pytest.raises(InputError, match="no effect"):
        open_backend(load(backend="llama-server:http://127.0.0.1:9", **flag))


def test_two_models_are_refused():
    with pytest.raises(InputError, match=r"'a'.*'b'"):
        open_backend(load(backend="local:b", model="a"))


def test_a_model_of_the_settings_gives_way_to_that_of_the_address(monkeypatch, tmp_path):
    monkeypatch.setenv("VEDETTE_MODEL", str(tmp_path / "other.gguf"))
    with pytest.raises(ModelNotFound, match="wanted"):
        open_backend(load(backend=f"local:{tmp_path / 'wanted.gguf'}", offline=True))


def test_a_program_that_is_not_there_is_named(tmp_path, tiny_full):
    with pytest.raises(FileError, match="nowhere"):
        open_backend(load(backend=f"llama-server:{tmp_path / 'nowhere'}@{tiny_full}"))


@pytest.mark.parametrize("kind", ["openai", "llama-server"])
def test_offline_forbids_other_machines(kind):
    with pytest.raises(InputError, match="offline"):
        open_backend(load(backend=f"{kind}:http://192.0.2.1/v1", offline=True))


def answer(fake: FakeServer, **settings) -> str:
    backend = open_backend(load(**settings))
    try:
        return backend.submit(Request(prompt=Prompt((Message("user", "x"),)))).result(30).text
    finally:
        backend.close()


def test_the_flag_comes_before_the_variable_and_that_before_the_file(fake, monkeypatch, tmp_path):
    good, bad = f"openai:{fake.url}/v1", "nonsense:x"
    (tmp_path / "vedette.toml").write_text(f'backend = "{bad}"\n')
    with pytest.raises(InputError, match="nonsense"):
        open_backend(load())
    monkeypatch.setenv("VEDETTE_BACKEND", good)
    open_backend(load()).close()
    with pytest.raises(InputError, match="nonsense"):
        open_backend(load(backend=bad))


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "sk-open"}, "Bearer sk-open"),
        ({"OPENAI_API_KEY": "sk-open", "VEDETTE_API_KEY": "sk-ours"}, "Bearer sk-ours"),
    ],
)
def test_the_key_comes_from_the_environment(fake, monkeypatch, variables, sent):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    open_backend(load(backend=f"openai:{fake.url}/v1")).close()
    assert fake.authorisations == [sent]


def test_a_llama_server_is_not_given_the_key_for_openai(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open")
    with pytest.raises(Exception, match="llama-server"):
        open_backend(load(backend=f"llama-server:{fake.url}"))
    assert set(fake.authorisations) == {None}


def test_the_key_is_shown_nowhere(fake, monkeypatch, capfd):
    from vedette.cli.main import run

    monkeypatch.setenv("VEDETTE_API_KEY", "sk-ours")
    fake.on("/v1/chat/completions", chat("no"))
    assert run(["config", "show", "--origin"]) == 0
    assert run(["classify", "--labels", "a,b", "--backend", f"openai:{fake.url}/v2"]) == 2
    assert "sk-ours" not in "".join(capfd.readouterr())
