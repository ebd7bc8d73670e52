"""`vedette mcp` as the SDK's own client sees it: in memory, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

# pytest rewrites anyio's modules as they are imported, and Python 3.11 fails to parse one where
# the stack is deep (CPython issue 106905): so this one is not left to the test that needs it.
import httpx2
import jsonschema_rs
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from served import WAIT_S
from test_tasks_door import Endless
from verb_bodies import BODIES, LABELS, SCHEMA, TEXT

from vedette.backends.none import NoModel
from vedette.cli.main import run
from vedette.serve.facts import Facts
from vedette.serve.mcp_server import create_server
from vedette.serve.options import ServeOptions
from vedette.serve.verbs.table import VERBS

PROCESS = [sys.executable, "-m", "vedette.cli.main", "mcp"]


def over(backend, verbs):
    return create_server(Facts(backend, ServeOptions()), verbs)


def talk(server, conversation):
    """What a conversation with a server gives."""

    async def run_it():
        async with Client(server) as client:
            return await conversation(client)

    return asyncio.run(run_it())


@pytest.fixture(scope="module")
def server(tiny_backend):
    return over(tiny_backend, VERBS.values())


@pytest.fixture
def variables(tmp_path, monkeypatch) -> dict[str, str]:
    """The environment of a process."""
    mine = {"VEDETTE_OFFLINE": "1", "VEDETTE_THREADS": "1", "VEDETTE_HOME": str(tmp_path / "home")}
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return mine | {key: value for key, value in os.environ.items() if key == "PYTHONPATH"}


def call(name, **arguments):
    return lambda client: client.call_tool(name, arguments)


def arguments_of(task):
    body = dict(BODIES[task])
    return body | body.pop("options", {})


def test_every_task_is_a_tool_with_the_schema_of_its_arguments(server):
    async def listed(client):
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in talk(server, listed)}
    assert list(tools) == list(VERBS)
    for name, tool in tools.items():
        assert tool.description == VERBS[name].summary
        takes = jsonschema_rs.validator_for(tool.input_schema)
        assert takes.is_valid(arguments_of(name)), name
        assert not takes.is_valid({"no_such_option": 1})
        assert tool.annotations.read_only_hint


def test_every_tool_answers(server):
    async def all_of_them(client):
        return {name: await client.call_tool(name, arguments_of(name)) for name in BODIES}

    for name, result in talk(server, all_of_them).items():
        assert not result.is_error, (name, result.content)
        body = result.structured_content
        assert json.loads(result.content[0].text) == body
        lines = body.get("results", [body])
        assert all(line["ok"] for line in lines), name


def test_several_inputs_have_results_of_their_own(server):
    result = talk(server, call("classify", inputs=["yes", 3, "no"], labels=LABELS))
    assert not result.is_error
    assert [line["ok"] for line in result.structured_content["results"]] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("classify", {"input": TEXT}, "the option labels is needed"),
        ("classify", {"input": TEXT, "labels": LABELS, "lables": 1}, "did you mean labels?"),
        ("classify", {"input": TEXT, "labels": "labels.txt"}, "no file of the server is read"),
        ("classify", {"labels": LABELS}, "give either input or inputs"),
        ("classify", {"inputs": [], "labels": LABELS}, "inputs must be a list"),
        ("classify", {"input": "word " * 5000, "labels": LABELS}, "input_too_long: "),
        ("dedupe", {"input": "a"}, "compares inputs with each other"),
        ("clasify", {"input": TEXT}, "did you mean classify?"),
    ],
)
def test_what_is_wrong_is_an_error_that_a_model_can_read(server, name, arguments, message):
    result = talk(server, call(name, **arguments))
    assert result.is_error
    assert message in result.content[0].text


def test_only_the_tasks_that_are_offered_are_tools():
    few = over(NoModel(), [VERBS["redact"]])

    async def conversation(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        return names, await client.call_tool("tag", {"input": TEXT})

    names, refused = talk(few, conversation)
    assert names == ["redact"]
    assert (refused.is_error, refused.content[0].text) == (
        True,
        "invalid_input: the task tag is not offered here",
    )


def test_a_task_that_needs_a_model_says_so_where_there_is_none():
    result = talk(over(NoModel(), VERBS.values()), call("tag", input=TEXT))
    assert result.is_error
    assert result.content[0].text.startswith("capability_missing: ")


def test_a_call_that_is_given_up_ends_its_task_without_a_word(tiny_backend, caplog):
    backend = Endless(tiny_backend)
    waiting = over(backend, [VERBS["tag"]])

    async def give_up():
        async with Client(waiting) as client:
            asked = asyncio.create_task(client.call_tool("tag", {"input": TEXT}))
            while not backend.handles:
                await asyncio.sleep(0.01)
            asked.cancel()
            await asyncio.wait([asked])
            while not backend.handles[0].cancelled:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(give_up(), WAIT_S))
    gc.collect()  # when asyncio tells of errors that nobody has read
    assert "never retrieved" not in caplog.text


def test_over_stdio(tiny_full, variables):
    """The process ends when its client is done, and says nothing but the protocol on stdout."""
    command = [*PROCESS, "--model", str(tiny_full), "--tasks", "extract,redact", "--quiet"]
    process = StdioServerParameters(command=command[0], args=command[1:], env=variables)

    async def conversation(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        extracted = await client.call_tool("extract", {"input": TEXT, "schema": SCHEMA})
        return names, extracted, await client.call_tool("redact", {"input": "to ann@example.com"})

    names, extracted, redacted = talk(process, conversation)
    assert names == ["extract", "redact"]
    assert extracted.structured_content["value"].keys() == {"level", "ok"}
    assert redacted.structured_content["value"] == "to [EMAIL_1]"


def test_ctrl_c_ends_it_while_nothing_comes(tiny_full, variables):
    """As at a terminal: stdin stays open."""
    command = [*PROCESS, "--model", str(tiny_full), "--tasks", "redact"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        process.stdin.write(json.dumps(ping) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(WAIT_S) == 130
        finally:
            process.kill()
        assert process.stderr.read().endswith("vedette: interrupted.\n")


def test_a_closed_stdin_is_exit_code_2(variables, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["mcp"]) == 2
    assert "stdin is closed" in capfd.readouterr().err


@pytest.fixture
def http_process(tiny_full, variables) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server over HTTP with a key from the environment, and its URL."""
    command = [*PROCESS, "--http", "--port", "0", "--model", str(tiny_full), "--tasks", "redact"]
    env = os.environ | {"VEDETTE_SERVE_API_KEY": "k"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as started:
        for line in started.stderr:
            told = re.fullmatch(r"1 task is a tool at (http://127\.0\.0\.1:\d+/mcp)\n", line)
            if told:
                break
        yield started, told[1]
        started.kill()


def test_over_http_with_a_key(http_process):
    started, url = http_process

    async def conversation():
        headers = {"authorization": "Bearer k"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=WAIT_S) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await client.call_tool("redact", {"input": "to ann@example.com"})

    assert httpx2.post(url, json={}).status_code == 401
    result = asyncio.run(conversation())
    assert result.structured_content["mapping"] == {"[EMAIL_1]": "ann@example.com"}
    started.send_signal(signal.SIGTERM)
    assert started.wait(WAIT_S) == 0
    lines = started.stderr.read()
    assert " POST /mcp 401 " in lines
    assert "example" not in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--http", "--host", "0.0.0.0"], "there is no API key"),
        (["--http", "--api-key", ""], "--api-key is empty"),
        (["--port", "1"], "--port goes with --http"),
        (["--tasks", "clasify"], "did you mean classify?"),
    ],
)
def test_what_cannot_be_is_exit_code_2(variables, capfd, arguments, message):
    assert run(["mcp", *arguments]) == 2
    assert message in capfd.readouterr().err


def test_without_its_extra_it_says_what_to_install(variables):
    code = (
        "import sys; sys.modules['mcp'] = None;"
        "from vedette.cli.main import run; sys.exit(run(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("which is not installed. pip install 'vedette[mcp]'.\n")
