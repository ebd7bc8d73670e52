"""API keys: how they are kept, what they open, how often they may be used."""

from __future__ import annotations

import json
import logging
import os
import stat

import httpx2
import pytest
from openai import OpenAI, PermissionDeniedError
from served import served, wait_until

from vedette.backends.none import NoModel
from vedette.cli.main import run
from vedette.errors import FileError, InputError
from vedette.serve.app import create_app
from vedette.serve.keys import KeyFile, digest_of
from vedette.serve.options import ServeOptions
from vedette.serve.rate import Bucket, Rate
from vedette.serve.scopes import OPEN_PATHS, SCOPES, check_scopes, scope_of

CHAT = frozenset({"chat"})


@pytest.fixture
def file(tmp_path) -> KeyFile:
    return KeyFile(tmp_path / "kept" / "keys.json")


@pytest.fixture
def guarded(file):
    """A server over a file that has one key; the key and its URL."""
    key = file.add("first", frozenset({"chat", "files"}), None)
    options = ServeOptions(model="none", keys_file=file.path)
    with served(create_app(NoModel(), options)) as url:
        yield key, url


def ask(url, key, path="/v1/models"):
    return httpx2.get(f"{url}{path}", headers={"authorization": f"Bearer {key}"})


def error_of(reply, status) -> dict:
    assert reply.status_code == status, reply.text
    assert reply.headers["x-request-id"]
    error = reply.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    return error


def test_a_key_is_kept_as_a_hash_in_a_file_of_ones_own(file):
    key = file.add("ci", CHAT, Rate.of("60/min"))
    assert len(key) > 40
    text = file.path.read_text()
    assert key not in text
    assert key.removeprefix("vdt_") not in text
    assert digest_of(key) in text
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    (kept,) = file.read()
    assert (kept.name, kept.scopes, str(kept.rate)) == ("ci", CHAT, "60/min")
    assert file.add("other", CHAT, None) != key


def test_names_are_taken_once_and_can_be_removed(file):
    file.add("a", CHAT, None)
    with pytest.raises(InputError, match="a key 'a' already"):
        file.add("a", CHAT, None)
    for name in ("", "a b", "-x", "x" * 65, "a\nb", "ключ"):
        with pytest.raises(InputError, match="no name of a key"):
            file.add(name, CHAT, None)
    with pytest.raises(InputError, match="call the key of VEDETTE_SERVE_API_KEY serve"):
        file.add("serve", CHAT, None)
    with pytest.raises(InputError, match=r"no key 'b' \(there are: a\)"):
        file.remove("b")
    file.remove("a")
    assert file.read() == ()


def test_a_file_that_others_may_read_is_refused(file):
    file.add("a", CHAT, None)
    file.path.chmod(0o640)
    with pytest.raises(FileError, match=r"open to other users .*chmod 600"):
        file.read()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "Invalid JSON"),
        ('{"version": 2, "keys": []}', "version"),
        ('{"version": 1, "keys": [{"name": "a"}]}', r"keys\.0\.sha256"),
        ('{"version": 1, "keys": [{"name": "a", "secret": "vdt_x"}]}', r"keys\.0"),
    ],
)
def test_a_file_that_is_none_is_refused_without_showing_what_is_in_it(file, content, why):
    file.path.parent.mkdir()
    file.path.touch(0o600)
    file.path.write_text(content)
    with pytest.raises(FileError, match=why) as refused:
        file.read()
    assert "vdt_x" not in str(refused.value)


def test_a_scope_or_rate_that_does_not_exist_is_refused(file):
    file.add("a", CHAT, Rate.of("1/s"))
    text = file.path.read_text()
    for right, wrong in (("chat", "chatt"), ("1/s", "1/fortnight")):
        file.path.write_text(text.replace(right, wrong))
        with pytest.raises(FileError, match="no file of keys"):
            file.read()
    with pytest.raises(InputError, match=r"no scope 'embeds' \(did you mean embed"):
        check_scopes(["chat", "embeds"])
    with pytest.raises(InputError, match="needs a scope"):
        check_scopes([])
    for text in ("60", "0/min", "-1/s", "1/m", "1.5/s", "1 /s", "9999999999/s", ""):
        with pytest.raises(InputError, match="is no rate"):
            Rate.of(text)


def test_a_bucket_lets_so_many_through_at_once_and_then_as_many_as_flow_in():
    now = 0.0
    bucket = Bucket(Rate.of("3/min"), clock=lambda: now)
    assert [bucket.take() for _ in range(3)] == [0, 0, 0]
    assert bucket.take() == pytest.approx(20)
    now = 19
    assert bucket.take() == pytest.approx(1)
    now = 20.001
    assert bucket.take() == 0
    assert bucket.take() > 19
    now = 10_000
    assert [bucket.take() > 0 for _ in range(4)] == [False, False, False, True]


def test_what_is_nobodys_is_for_admins():
    assert scope_of("/v1/chat/completions") == "chat"
    assert scope_of("/v1/files/f-1/content") == "files"
    assert scope_of("/v1/models/a/b") is None
    assert scope_of("/v1/filesystem") == "admin"
    assert scope_of("/nowhere") == "admin"


def test_every_route_of_the_server_has_been_given_a_scope():
    """One that is `admin` by being forgotten is a line missing in scopes.py."""
    paths = create_app(NoModel()).openapi()["paths"]
    named = {path for paths in SCOPES.values() for path in paths}
    forgotten = [
        path
        for path in paths
        if path not in OPEN_PATHS
        and scope_of(path) == "admin"
        and path not in named
        and not any(path.startswith(f"{one}/") for one in SCOPES["admin"])
    ]
    assert forgotten == []


def test_a_key_opens_what_its_scopes_name_and_nothing_else(guarded):
    key, url = guarded
    assert ask(url, key).status_code == 200
    assert ask(url, key, "/openapi.json").status_code == 200
    for path, scope in (("/metrics", "metrics"), ("/v1/embeddings", "embed"), ("/x", "admin")):
        error = error_of(ask(url, key, path), 403)
        assert (error["type"], error["code"]) == ("permission_error", "insufficient_scope")
        assert f"no scope {scope}" in error["message"]
    assert error_of(ask(url, key, "/v1/files/nowhere-else"), 501)  # let in, and there is nothing
    with OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["none"]
        with pytest.raises(PermissionDeniedError):
            client.embeddings.create(model="none", input="x")


@pytest.mark.parametrize("shown", ["", "vdt_wrong", "ключ"])
def test_nobody_else_is_let_in(guarded, shown):
    _, url = guarded
    headers = {"authorization": f"Bearer {shown}".encode()} if shown else {}
    reply = httpx2.get(f"{url}/v1/models", headers=headers)
    assert error_of(reply, 401)["type"] == "authentication_error"
    for path in OPEN_PATHS:
        assert httpx2.get(f"{url}{path}").status_code in (200, 503)


def test_the_hash_of_a_key_is_no_key(guarded):
    key, url = guarded
    assert ask(url, digest_of(key)).status_code == 401


def test_a_rate_is_kept_and_told(file):
    slow, free = file.add("slow", CHAT, Rate.of("2/h")), file.add("free", CHAT, None)
    with served(create_app(NoModel(), ServeOptions(model="none", keys_file=file.path))) as url:
        assert [ask(url, slow).status_code for _ in range(2)] == [200, 200]
        reply = ask(url, slow)
        error = error_of(reply, 429)
        assert error["code"] == "rate_limit_exceeded"
        assert "slow" in error["message"]
        assert "2/h" in error["message"]
        assert 1700 < int(reply.headers["retry-after"]) <= 1800
        assert {ask(url, free).status_code for _ in range(5)} == {200}


def test_changes_of_the_file_count_at_once(guarded, file, caplog):
    key, url = guarded
    second = file.add("second", frozenset({"metrics"}), None)
    assert ask(url, second, "/metrics").status_code == 200
    file.remove("first")
    assert ask(url, key).status_code == 401
    file.path.write_text("{")  # by hand: nobody is locked out by a slip, and it is said
    assert ask(url, second).status_code == 200
    assert "the API keys stay as they were" in caplog.text
    file.path.unlink()
    assert ask(url, second).status_code == 401


def test_a_server_without_keys_is_locked_by_the_first_one(file):
    with served(create_app(NoModel(), ServeOptions(model="none", keys_file=file.path))) as url:
        assert httpx2.get(f"{url}/v1/models").status_code == 200
        key = file.add("a", CHAT, None)
        assert httpx2.get(f"{url}/v1/models").status_code == 401
        assert ask(url, key).status_code == 200
        file.path.unlink()
        assert httpx2.get(f"{url}/v1/models").status_code == 401


def test_the_key_of_the_environment_opens_everything(file):
    file.add("a", CHAT, None)
    options = ServeOptions(model="none", keys_file=file.path, api_key="k")
    with served(create_app(NoModel(), options)) as url:
        assert ask(url, "k", "/metrics").status_code == 200
        assert ask(url, "k", "/nowhere").status_code == 404


def test_a_file_that_cannot_be_read_is_said_before_anybody_is_let_in(file):
    file.add("a", CHAT, None)
    file.path.write_text("{")
    with pytest.raises(FileError):
        create_app(NoModel(), ServeOptions(keys_file=file.path))


def test_the_log_has_the_name_of_the_key_and_never_the_key(guarded, caplog):
    key, url = guarded
    caplog.set_level(1)
    ask(url, key)
    ask(url, "vdt_guessed")
    ask(url, key, "/metrics")
    wait_until(lambda: len([r for r in caplog.records if r.name == "vedette.serve.door"]) == 3)
    lines = [r.getMessage() for r in caplog.records if r.name == "vedette.serve.door"]
    assert lines[0].endswith(" ms key=first")
    assert lines[1].endswith(" ms")
    assert lines[2].endswith(" ms key=first")  # whose key it is that opens too little
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("vedette"))
    assert key not in ours
    assert "vdt_guessed" not in ours


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_the_command_makes_lists_and_removes(home, capsys):
    assert run(["keys", "add", "ci", "--scopes", "chat, files", "--rate", "5/s"]) == 0
    made = capsys.readouterr()
    key = made.out.strip()
    assert key.startswith("vdt_")
    assert "the one time" in made.err
    assert key not in made.err
    assert run(["keys", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row.pop("created")
    assert row == {"name": "ci", "scopes": ["chat", "files"], "rate": "5/s"}
    assert run(["keys", "list"]) == 0
    assert "chat, files" in capsys.readouterr().out
    assert KeyFile(home / "keys.json").read()[0].sha256 == digest_of(key)
    assert run(["keys", "remove", "ci"]) == 0
    assert run(["keys", "remove", "ci"]) == 2
    assert "no key 'ci'" in capsys.readouterr().err


def test_the_file_can_be_elsewhere(home, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VEDETTE_KEYS_FILE", str(tmp_path / "other" / "k.json"))
    assert run(["keys", "add", "ci"]) == 0
    assert (tmp_path / "other" / "k.json").exists()
    assert not home.exists()


def test_serving_with_a_file_that_lets_nobody_in_is_refused(home, capfd):
    assert run(["keys", "add", "a"]) == 0
    assert run(["keys", "remove", "a"]) == 0
    assert run(["serve", "--port", "0"]) == 2
    assert "has no API key, so that nobody could be let in" in capfd.readouterr().err


def test_a_key_in_the_file_is_enough_for_an_open_address(home, capfd):
    assert run(["keys", "add", "a"]) == 0
    options = ["--host", "0.0.0.0", "--port", "0", "--model", "nowhere.gguf", "--quiet"]
    assert run(["serve", *options]) == 2
    assert "no API key" not in capfd.readouterr().err


def test_two_that_add_at_once_lose_no_key(file):
    """Each holds the lock while it reads and writes."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: file.add(f"k{i}", CHAT, None), range(16)))
    assert {key.name for key in file.read()} == {f"k{i}" for i in range(16)}
    assert [name for name in os.listdir(file.path.parent) if name.endswith(".tmp")] == []


def test_levels_below_info_say_nothing_more(guarded, caplog):
    key, url = guarded
    caplog.set_level(logging.DEBUG, "vedette")
    ask(url, key)
    wait_until(lambda: caplog.records)
    assert not [r for r in caplog.records if r.name.startswith("vedette") and r.levelno < 20]
