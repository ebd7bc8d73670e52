"""Batches from beginning to end, by OpenAI's own client on a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import openai
import pytest
from batching import CHAT, OVER, as_jsonl, begin, chat_line, over, rows, send, serving
from openai.types import Completion, CreateEmbeddingResponse
from openai.types.chat import ChatCompletion
from served import wait_until

from vedette.errors import DiskFull
from vedette.serve.batch_shelf import Shelf
from vedette.serve.keys import KeyFile
from vedette.serve.options import ServeOptions

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@pytest.fixture
def folder(tmp_path) -> Path:
    """For servers that a test starts itself."""
    return tmp_path / "own"


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("batches") / "kept"


@pytest.fixture(scope="module")
def client(tiny_backend, shared):
    with serving(tiny_backend, shared) as client:
        yield client


def test_every_line_is_answered_in_the_order_of_the_file(client):
    names = [f"行-{i}" for i in range(11)]
    made = begin(client, [chat_line(name, f"say {name}") for name in names], metadata={"k": "v"})
    assert (made.object, made.endpoint, made.model) == ("batch", CHAT, "tiny")
    assert made.status in ("validating", "in_progress")
    assert made.expires_at - made.created_at == 86400
    batch = over(client, made.id)
    counts = batch.request_counts
    assert (batch.status, batch.metadata, batch.error_file_id) == ("completed", {"k": "v"}, None)
    assert (counts.total, counts.completed, counts.failed) == (11, 11, 0)
    assert batch.in_progress_at <= batch.finalizing_at <= batch.completed_at
    output = client.files.retrieve(batch.output_file_id)
    assert (output.purpose, output.filename) == ("batch_output", f"{batch.id}_output.jsonl")
    lines = rows(client, output.id)
    assert [line["custom_id"] for line in lines] == names
    assert len({line["id"] for line in lines}) == 11
    for line in lines:
        assert line.keys() == {"id", "custom_id", "response", "error"}
        assert (line["error"], line["response"]["status_code"]) == (None, 200)
        assert line["response"]["request_id"]
        answer = ChatCompletion.model_validate(line["response"]["body"])
        assert answer.usage.completion_tokens


def test_an_answer_is_the_one_that_the_route_gives(client):
    fields = {"max_tokens": 9, "response_format": {"type": "json_schema", "json_schema": {
        "name": "x", "schema": SCHEMA}}}  # fmt: skip
    live = client.chat.completions.create(**chat_line("a", **fields)["body"])
    batch = over(client, begin(client, [chat_line("a", **fields)]).id)
    (line,) = rows(client, batch.output_file_id)
    assert line["response"]["body"]["choices"] == live.to_dict()["choices"]
    assert json.loads(live.choices[0].message.content).keys() == {"ok"}


@pytest.mark.parametrize(
    ("endpoint", "body", "kind"),
    [
        ("/v1/completions", {"prompt": "level:", "max_tokens": 4}, Completion),
        ("/v1/embeddings", {"input": ["one", "two"]}, CreateEmbeddingResponse),
    ],
)
def test_other_routes_are_asked_too(client, endpoint, body, kind):
    line = {"custom_id": "a", "method": "POST", "url": endpoint, "body": {"model": "tiny", **body}}
    batch = over(client, begin(client, [line], endpoint).id)
    assert batch.status == "completed"
    (found,) = rows(client, batch.output_file_id)
    kind.model_validate(found["response"]["body"])


def test_a_wrong_line_is_an_error_and_the_others_are_answered(client):
    good = chat_line("good")
    lines = [
        good,
        b"{not json",
        b"[1]",
        b"",
        {**chat_line("x"), "custom_id": 7},
        chat_line("good", "another with the same id"),
        {**chat_line("method"), "method": "GET"},
        {**chat_line("url"), "url": "/v1/embeddings"},
        {**chat_line("body"), "body": "hello"},
        {**chat_line("field"), "priority": "high"},
        chat_line("stream", stream=True),
        chat_line("model", "hi") | {"body": {"model": "gpt-5", "messages": []}},
        chat_line("refused", tools=[{"type": "function", "function": {"name": 5}}]),
        chat_line("last"),
        b'{"custom_id": "torn", "method": "POST", "url": "/v1/cha',
    ]
    batch = over(client, begin(client, lines).id)
    counts = batch.request_counts
    assert (batch.status, counts.total, counts.completed, counts.failed) == ("completed", 14, 2, 12)
    found = rows(client, batch.output_file_id)
    assert [line["custom_id"] for line in found] == ["good", "last"]
    failed = rows(client, batch.error_file_id)
    refused = [line for line in failed if line["response"] is None]
    codes = {line["custom_id"]: line["error"]["code"] for line in refused if line["custom_id"]}
    assert codes == {
        "good": "duplicate_custom_id",
        "method": "invalid_method",
        "url": "invalid_url",
        "body": "invalid_body",
        "field": "unknown_field",
        "stream": "unsupported_stream",
    }
    nameless = [line["error"]["code"] for line in refused if not line["custom_id"]]
    assert nameless == ["invalid_json", "invalid_line", "invalid_custom_id", "invalid_json"]
    assert "line 15" in refused[-1]["error"]["message"]
    answered = {line["custom_id"]: line["response"] for line in failed if line["response"]}
    assert answered["model"]["status_code"] in (400, 404)
    assert answered["refused"]["status_code"] == 400
    for response in answered.values():
        assert response["body"]["error"]["message"]


@pytest.mark.parametrize("lines", [[], [b"", b"  "]])
def test_a_file_without_lines_fails(client, lines):
    batch = over(client, begin(client, lines).id)
    assert (batch.status, batch.errors.data[0].code) == ("failed", "empty_file")
    assert (batch.output_file_id, batch.error_file_id) == (None, None)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"endpoint": "/v1/nowhere"}, "endpoint"),
        ({"endpoint": "/v1/files"}, "endpoint"),
        ({"endpoint": "/v1/batches"}, "endpoint"),
        ({"endpoint": "/tokenize"}, "endpoint"),
        ({"endpoint": "/v1/models"}, "endpoint"),
        ({"completion_window": "soon"}, None),
        ({"completion_window": "31d"}, None),
        ({"metadata": {"k": "v" * 513}}, "metadata.k"),
        (
            {"output_expires_after": {"anchor": "created_at", "seconds": 3600}},
            "output_expires_after",
        ),
        ({"extra_body": {"priority": 1}}, "priority"),
    ],
)
def test_what_a_batch_cannot_be_is_refused(client, fields, param):
    before = list(client.batches.list())
    with pytest.raises(openai.BadRequestError) as refused:
        begin(client, [chat_line("a")], **{"endpoint": CHAT, **fields})
    assert refused.value.param == param
    assert list(client.batches.list()) == before


def test_a_key_may_not_ask_by_a_batch_what_it_may_not_ask_itself(tiny_backend, folder, tmp_path):
    keys = KeyFile(tmp_path / "keys.json")
    narrow = keys.add("narrow", frozenset({"files", "embed"}), None)
    options = ServeOptions(model="tiny", keys_file=keys.path)
    with serving(tiny_backend, folder, options, key=narrow) as client:
        with pytest.raises(openai.PermissionDeniedError, match="has no scope chat") as refused:
            begin(client, [chat_line("a")])
        assert refused.value.code == "insufficient_scope"
        body = {"model": "tiny", "input": "x"}
        url = "/v1/embeddings"
        line = {"custom_id": "a", "method": "POST", "url": url, "body": body}
        assert over(client, begin(client, [line], url).id).request_counts.completed == 1


def test_a_batch_reads_a_file_that_was_sent_for_it(client):
    with pytest.raises(openai.NotFoundError):
        client.batches.create(input_file_id="file-x", endpoint=CHAT, completion_window="24h")
    batch = over(client, begin(client, [chat_line("a")]).id)
    with pytest.raises(openai.BadRequestError, match="purpose batch_output"):
        client.batches.create(
            input_file_id=batch.output_file_id, endpoint=CHAT, completion_window="24h"
        )


def test_batches_are_listed_newest_first_and_page_by_page(client):
    ids = [begin(client, [chat_line("a", max_tokens=1)]).id for _ in range(3)]
    assert [batch.id for batch in client.batches.list(limit=2)][:3] == ids[::-1]
    with pytest.raises(openai.NotFoundError) as unknown:
        client.batches.retrieve("batch_x")
    assert unknown.value.code == "batch_not_found"


def test_a_cancelled_batch_keeps_what_was_answered(client):
    lines = [chat_line("quick", max_tokens=1)]
    lines += [chat_line(f"slow-{i}", max_tokens=1500) for i in range(20)]
    batch = begin(client, lines)
    wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed)
    assert client.batches.cancel(batch.id).status in ("cancelling", "cancelled")
    ended = over(client, batch.id)
    counts = ended.request_counts
    assert (ended.status, counts.total) == ("cancelled", 21)
    assert ended.cancelling_at <= ended.cancelled_at
    answered = [line["custom_id"] for line in rows(client, ended.output_file_id)]
    missing = rows(client, ended.error_file_id)
    assert "quick" in answered
    assert {line["error"]["code"] for line in missing} == {"batch_cancelled"}
    every = [*answered, *(line["custom_id"] for line in missing)]
    assert sorted(every) == sorted(line["custom_id"] for line in lines)
    with pytest.raises(openai.BadRequestError) as refused:
        client.batches.cancel(batch.id)
    assert refused.value.code == "batch_is_over"


def edit(folder, batch_id, **fields) -> None:
    """Change what is kept of a batch."""
    path = folder / "batches" / batch_id / "batch.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | fields), "utf-8")


N_LINES = 300
"""So many that a batch is not over before its server ends, however fast the machine."""


def unfinished(backend, folder, n_lines=N_LINES) -> str:
    """The id of a batch whose server was ended in its midst."""
    with serving(backend, folder) as client:
        lines = [chat_line(f"{i}", f"number {i}", max_tokens=60) for i in range(n_lines)]
        batch = begin(client, lines)
        wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed >= 3)
        assert client.batches.retrieve(batch.id).status not in OVER
    return batch.id


def test_an_unfinished_batch_goes_on_with_the_next_server(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    journal = folder / "batches" / batch_id / "journal"
    kept = [line.split(b" ", 2)[2] for line in journal.read_bytes().splitlines()[1:]]
    assert 3 <= len(kept) < N_LINES
    with serving(tiny_backend, folder) as client:
        batch = over(client, batch_id)
        assert (batch.status, batch.request_counts.completed) == ("completed", N_LINES)
        lines = rows(client, batch.output_file_id)
    assert [line["custom_id"] for line in lines] == [f"{i}" for i in range(N_LINES)]
    first_ids = {json.loads(body)["id"] for body in kept}
    assert first_ids <= {line["id"] for line in lines}  # nothing was asked again
    assert not journal.exists()


def test_a_torn_end_of_the_journal_is_asked_again(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    journal = folder / "batches" / batch_id / "journal"
    journal.write_bytes(journal.read_bytes()[:-5])
    with serving(tiny_backend, folder) as client:
        batch = over(client, batch_id)
        lines = rows(client, batch.output_file_id)
    assert [line["custom_id"] for line in lines] == [f"{i}" for i in range(N_LINES)]


def test_a_full_disk_is_waited_for_and_results_are_written_once(client, shared, monkeypatch):
    """The last write of a batch fails once, after its results have been written."""
    monkeypatch.setattr("vedette.serve.batches.PAUSE_S", 0.05)
    write, failed = Shelf._write, []

    def once_full(shelf, batch):
        if batch.is_over and not failed:
            failed.append(batch.id)
            raise DiskFull("no room left")
        write(shelf, batch)

    monkeypatch.setattr(Shelf, "_write", once_full)
    batch = begin(client, [chat_line("a"), chat_line("a")])
    wait_until(lambda: failed)
    batch = over(client, batch.id)
    assert (batch.status, failed) == ("completed", [batch.id])
    record = json.loads((shared / "batches" / batch.id / "batch.json").read_text("utf-8"))
    assert record["status"] == "completed"
    names = [file.filename for file in client.files.list(purpose="batch_output")]
    written = sorted(name for name in names if name.startswith(batch.id))
    assert written == [f"{batch.id}_error.jsonl", f"{batch.id}_output.jsonl"]


def test_a_batch_waits_for_the_model_that_it_was_made_for(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    other = ServeOptions(model="another", max_tokens=12)
    with serving(tiny_backend, folder, other) as client:
        completed = client.batches.retrieve(batch_id).request_counts.completed
        done = over(client, begin(client, [chat_line("a")]).id)
        assert done.request_counts.failed == 1  # the line asks for the model that is not here
        waiting = client.batches.retrieve(batch_id)
        assert (waiting.status, waiting.request_counts.completed) == ("in_progress", completed)
    with serving(tiny_backend, folder) as client:
        assert over(client, batch_id).request_counts.completed == N_LINES


def test_a_batch_that_nobody_can_answer_can_be_cancelled(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    with serving(tiny_backend, folder, ServeOptions(model="another")) as client:
        client.batches.cancel(batch_id)
        batch = over(client, batch_id)
        assert batch.status == "cancelled"
        counts = batch.request_counts
        assert (counts.completed >= 3, counts.completed + counts.failed) == (True, N_LINES)


def test_a_batch_whose_time_is_up_has_expired(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    edit(folder, batch_id, created_at=1000.0)
    with serving(tiny_backend, folder) as client:
        batch = over(client, batch_id)
        assert (batch.status, batch.expires_at) == ("expired", 1000 + 86400)
        missing = rows(client, batch.error_file_id)
        assert {line["error"]["code"] for line in missing} == {"batch_expired"}
        assert len(missing) + len(rows(client, batch.output_file_id)) == N_LINES


def test_a_damaged_journal_is_the_end_of_its_batch_only(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    journal = folder / "batches" / batch_id / "journal"
    head, first, rest = journal.read_bytes().split(b"\n", 2)
    journal.write_bytes(head + b"\n" + first.replace(b"ok", b"OK") + b"\n" + rest)
    with serving(tiny_backend, folder) as client:
        batch = over(client, batch_id)
        assert (batch.status, batch.errors.data[0].code) == ("failed", "file_error")
        assert over(client, begin(client, [chat_line("a")]).id).status == "completed"


def test_an_input_that_was_removed_by_hand_is_the_end_of_its_batch(tiny_backend, folder):
    batch_id = unfinished(tiny_backend, folder)
    for path in (folder / "files").iterdir():
        path.unlink()
    with serving(tiny_backend, folder) as client:
        batch = over(client, batch_id)
        assert (batch.status, batch.errors.data[0].code) == ("failed", "file_error")


def test_many_batches_go_side_by_side(client):
    batches = [begin(client, [chat_line(f"{i}", max_tokens=5) for i in range(6)]) for _ in range(4)]
    for batch in batches:
        assert over(client, batch.id).request_counts.completed == 6


def test_sent_files_may_end_without_a_newline_and_begin_with_a_mark(client):
    content = b"\xef\xbb\xbf" + as_jsonl([chat_line("a"), chat_line("b")]).rstrip(b"\n")
    file = client.files.create(file=("x", content.replace(b"\n", b"\r\n")), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
    assert over(client, batch.id).request_counts.completed == 2
    assert send(client, [chat_line("a")]).purpose == "batch"
