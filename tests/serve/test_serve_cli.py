"""`vedette serve` as a process: what it refuses, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx2
import pytest
from openai import APIConnectionError, OpenAI
from served import WAIT_S

from vedette.cli.main import run
from vedette.cli.serve import open_files
from vedette.config import load
from vedette.serve.file_store import FileStore


@pytest.fixture
def variables(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_FILES_DIR", str(tmp_path / "files"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def process(tiny_full, variables) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server with a key from the environment, and its URL."""
    command = [sys.executable, "-m", "vedette.cli.main", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--model", str(tiny_full), "--alias", "tiny"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"VEDETTE_SERVE_API_KEY": "k"},
    ) as started:
        for line in started.stderr:
            if found := re.fullmatch(r"tiny answers at (http://127\.0\.0\.1:\d+)/v1\n", line):
                break
        yield started, found[1]
        started.kill()


def test_an_open_address_without_a_key_is_exit_code_2_and_one_sentence(variables, capfd):
    assert run(["serve", "--host", "0.0.0.0"]) == 2
    assert capfd.readouterr().err == (
        "vedette: 0.0.0.0 can be reached by other machines, and there is no API key. "
        "make one by `vedette keys add NAME`, or listen on 127.0.0.1.\n"
    )


def test_a_port_that_is_taken_is_said_before_a_model_is_loaded(variables, capfd):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert run(["serve", "--port", str(port), "--model", "nowhere.gguf"]) == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in capfd.readouterr().err


def test_an_empty_key_is_refused(variables, capfd):
    assert run(["serve", "--api-key", ""]) == 2
    assert "--api-key is empty" in capfd.readouterr().err


def test_a_folder_of_files_that_another_server_has_is_refused_where_it_was_asked_for(
    variables, tmp_path, capfd
):
    with FileStore(tmp_path / "files"):
        assert run(["serve", "--port", "0", "--quiet"]) == 2
    assert "is in use by another server" in capfd.readouterr().err


def test_without_the_default_folder_there_are_no_files_and_it_is_said(
    variables, tmp_path, monkeypatch, capfd
):
    monkeypatch.delenv("VEDETTE_FILES_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "data" / "vedette" / "serve"
    with open_files(load()) as store:
        assert store.folder == folder
        assert open_files(load()) is None
    said = capfd.readouterr().err
    assert said.startswith(f"no files and no batches here: {folder} is in use by another server")


def test_without_its_extra_it_says_what_to_install(variables):
    code = (
        "import sys; sys.modules['uvicorn'] = None;"
        "from vedette.cli.main import run; sys.exit(run(['serve']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "vedette: serving needs the package uvicorn, which is not installed. "
        "pip install 'vedette[serve]'.\n",
    )


def test_it_answers_with_the_key_and_ends_when_told_to(process):
    started, url = process
    assert httpx2.get(f"{url}/v1/models").status_code == 401
    reply = httpx2.get(f"{url}/v1/models", headers={"authorization": "Bearer k"})
    assert [model["id"] for model in reply.json()["data"]] == ["tiny"]
    started.send_signal(signal.SIGTERM)
    assert started.wait(WAIT_S) == 0
    lines = started.stderr.read().splitlines()
    assert [line.split()[3:6] for line in lines] == [
        ["GET", "/v1/models", "401"],
        ["GET", "/v1/models", "200"],
    ]


def test_an_answer_under_way_is_finished_before_the_end(process):
    started, url = process
    with OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        stream = client.completions.create(
            model="tiny", prompt="level", max_tokens=1500, stream=True
        )
        next(stream)
        started.send_signal(signal.SIGTERM)
        *_, last = stream
        assert last.choices[0].finish_reason == "length"
        assert started.wait(WAIT_S) == 0
        with pytest.raises(APIConnectionError):
            client.models.list()
