"""Files, by OpenAI's own client and by clients that mean ill."""

from __future__ import annotations

import json
import os
import threading
import time

import httpx2
import openai
import pytest
from batching import CHAT, begin, chat_line, over, serving
from openai import OpenAI
from served import served

from vedette.backends.none import NoModel
from vedette.errors import FileError
from vedette.serve.app import create_app
from vedette.serve.file_store import FileStore
from vedette.serve.upload import shown_name

BYTES = b'{"a": 1}\r\n\x00\xff' * 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "kept"


@pytest.fixture(scope="module")
def server(folder):
    with serving(NoModel(), folder, most_file_bytes=200_000, most_bytes=300_000) as client:
        yield client


@pytest.fixture
def client(server, folder):
    """A client of the server, which has no files when a test begins."""
    for file in server.files.list():
        server.files.delete(file.id)
    assert contents(folder) == []
    return server


@pytest.fixture
def own(tmp_path):
    """A folder for servers that a test starts itself."""
    return tmp_path / "own"


@pytest.fixture
def post(client):
    """Sends a form as it stands."""

    def post(**how) -> httpx2.Response:
        return httpx2.post(f"{client.base_url}files", timeout=30, **how)

    return post


def contents(folder) -> list[str]:
    return sorted(path.name for path in (folder / "files").iterdir())


def test_a_file_comes_back_as_it_was_sent(client):
    made = client.files.create(file=("rows.jsonl", BYTES), purpose="batch")
    assert (made.object, made.bytes, made.purpose) == ("file", len(BYTES), "batch")
    assert (made.filename, made.status) == ("rows.jsonl", "processed")
    assert client.files.retrieve(made.id) == made
    assert client.files.content(made.id).read() == BYTES
    assert client.files.delete(made.id).deleted is True
    for ask in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError) as gone:
            ask(made.id)
        assert gone.value.code == "file_not_found"


def test_files_are_listed_newest_first_and_page_by_page(client):
    ids = [client.files.create(file=b"x", purpose="batch").id for _ in range(5)]
    assert [file.id for file in client.files.list()] == ids[::-1]
    assert [file.id for file in client.files.list(order="asc", limit=2)] == ids  # over three pages
    first = client.files.list(limit=2)
    assert (first.has_more, len(first.data)) == (True, 2)
    assert [file.id for file in client.files.list(purpose="batch_output")] == []
    with pytest.raises(openai.BadRequestError, match="there is no 'file-x' in the list"):
        client.files.list(after="file-x")


@pytest.mark.parametrize("query", [{"limit": 0}, {"order": "up"}, {"sort": "id"}])
def test_a_query_that_makes_no_sense_is_refused(client, query):
    with pytest.raises(openai.BadRequestError) as refused:
        client.files.list(extra_query=query)
    assert refused.value.param == next(iter(query))


def test_files_outlive_the_server(own):
    with serving(NoModel(), own) as client:
        made = client.files.create(file=("a.jsonl", b"one"), purpose="batch")
    with serving(NoModel(), own) as client:
        assert client.files.retrieve(made.id) == made
        assert client.files.content(made.id).read() == b"one"


def test_what_a_kill_left_behind_is_cleared_away_and_what_is_damaged_left_out(own):
    with serving(NoModel(), own) as client:
        ids = [client.files.create(file=b"whole", purpose="batch").id for _ in range(3)]
    (own / "files" / f"{ids[0]}.json").unlink()
    (own / "files" / ids[1]).write_bytes(b"torn")
    (own / "incoming" / "half").write_bytes(b"half of a file")
    (own / "files" / f"{ids[2]}.json.7.tmp").write_bytes(b"{")
    with serving(NoModel(), own) as client:
        assert [file.id for file in client.files.list()] == [ids[2]]
    assert contents(own) == sorted([ids[1], f"{ids[1]}.json", ids[2], f"{ids[2]}.json"])
    assert list((own / "incoming").iterdir()) == []


def test_a_folder_has_one_server_at_a_time(own):
    with FileStore(own), pytest.raises(FileError, match="in use by another server"):
        FileStore(own)
    FileStore(own).close()


def test_others_on_the_machine_cannot_read_files(client, folder):
    file = client.files.create(file=b"private", purpose="batch")
    assert os.stat(folder).st_mode & 0o077 == 0
    assert os.stat(folder / "files" / file.id).st_mode & 0o077 == 0


def test_a_clients_name_is_never_a_path(client, folder):
    before = sorted(folder.parent.rglob("*"))
    for name in ("../../evil", "/etc/passwd", "..\\..\\evil", "a/b\x00c", ".."):
        file = client.files.create(file=(name, b"x"), purpose="batch")
        assert "/" not in file.filename
        assert "\\" not in file.filename
        client.files.delete(file.id)
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "path",
    [
        "../lock",
        "..%2Flock",
        "%2e%2e%2flock",
        "..%5clock",
        "file-%00",
        "file-" + "0" * 32,
        "x.json",
    ],
)
def test_an_id_is_never_a_path(client, path):
    for method, end in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        reply = httpx2.request(method, f"{client.base_url}files/{path}{end}")
        assert reply.status_code in (404, 405), reply.text
        assert reply.json()["error"]["message"]


def test_names_are_shown_without_folders_and_control_characters():
    assert shown_name("行.jsonl".encode()) == "行.jsonl"
    assert shown_name(b"C:\\temp\\a\x1b[31m.jsonl") == "a[31m.jsonl"
    assert shown_name(b"/") == "upload"
    assert shown_name(b"x" * 999) == "x" * 255


def test_a_file_over_the_limit_is_refused_announced_or_not(client, post, folder):
    with pytest.raises(openai.APIStatusError) as refused:
        client.files.create(file=b"x" * 400_000, purpose="batch")
    assert (refused.value.status_code, refused.value.code) == (413, "file_too_large")
    form = form_of(("file", "x" * 200_001, "f"), ("purpose", "batch", None))
    reply = post(content=iter([form[:1000], form[1000:]]), headers=FORM)
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "file_too_large")
    assert contents(folder) == []
    assert list((folder / "incoming").iterdir()) == []


def test_all_files_together_have_a_limit_too(client):
    first = client.files.create(file=b"x" * 200_000, purpose="batch")
    with pytest.raises(openai.APIStatusError) as refused:
        client.files.create(file=b"x" * 100_001, purpose="batch")
    assert refused.value.code == "quota_exceeded"
    client.files.create(file=b"x" * 100_000, purpose="batch")
    client.files.delete(first.id)
    client.files.create(file=b"x" * 200_000, purpose="batch")


FORM = {"content-type": "multipart/form-data; boundary=b"}


def form_of(*parts) -> bytes:
    written = ""
    for name, value, filename in parts:
        named = f'; filename="{filename}"' if filename is not None else ""
        written += f'--b\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n{value}\r\n'
    return f"{written}--b--\r\n".encode()


FILE = ("file", "x", "f")
PURPOSE = ("purpose", "batch", None)


@pytest.mark.parametrize(
    ("parts", "param"),
    [
        ([FILE], "purpose"),
        ([PURPOSE], "file"),
        ([PURPOSE, ("file", "x", None)], "file"),
        ([FILE, FILE, PURPOSE], "file"),
        ([FILE, ("purpose", "vision", None)], "purpose"),
        ([FILE, ("purpose", "batch_output", None)], "purpose"),
        ([FILE, PURPOSE, ("expires_after[seconds]", "3600", None)], "expires_after"),
        ([FILE, PURPOSE, ("colour", "red", None)], "colour"),
        ([FILE, ("purpose", "b" * 2000, None)], None),
        ([("file", "x", "f" * 9000), PURPOSE], None),
        ([PURPOSE] * 9, None),
    ],
)
def test_a_form_that_lacks_something_or_has_too_much_is_refused(post, folder, parts, param):
    reply = post(content=form_of(*parts), headers=FORM)
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"]["param"] == param
    assert contents(folder) == []


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (form_of(FILE, PURPOSE)[:-8], FORM),
        (b"what is this", FORM),
        (b"", FORM),
        (form_of(FILE, PURPOSE), {"content-type": "multipart/form-data"}),
        (b'{"purpose": "batch"}', {"content-type": "application/json"}),
        (b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n", FORM),
    ],
)
def test_what_is_no_form_is_refused(post, folder, content, headers):
    reply = post(content=content, headers=headers)
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"]["message"]
    assert contents(folder) == []


def test_an_upload_that_breaks_off_leaves_nothing(post, folder):
    def broken():
        yield form_of(FILE, PURPOSE)[:60]
        raise RuntimeError("unplugged")

    with pytest.raises(RuntimeError):
        post(content=broken(), headers=FORM)
    assert contents(folder) == []


def test_a_client_that_falls_silent_is_let_go(post, folder, monkeypatch):
    monkeypatch.setattr("vedette.serve.upload.PATIENCE_S", 0.05)
    released = threading.Event()

    def slow():
        yield form_of(FILE, PURPOSE)[:60]
        released.wait(0.3)
        yield b""

    reply = post(content=slow(), headers=FORM)
    assert (reply.status_code, reply.json()["error"]["code"]) == (408, "request_timeout")
    assert contents(folder) == []


def test_a_client_that_drips_is_let_go(post, folder, monkeypatch):
    """Never silent for long, and yet never done."""
    monkeypatch.setattr("vedette.serve.upload.PATIENCE_S", 0.2)

    def dripping():
        yield form_of(FILE, PURPOSE)[:60]
        for _ in range(100):
            time.sleep(0.05)
            yield b"x"

    reply = post(content=dripping(), headers=FORM)
    assert (reply.status_code, reply.json()["error"]["code"]) == (408, "request_timeout")
    assert contents(folder) == []


def test_a_file_that_a_batch_reads_stays(tiny_backend, own):
    with serving(tiny_backend, own) as client:
        batch = begin(client, [chat_line(f"{i}", max_tokens=1500) for i in range(20)])
        with pytest.raises(openai.BadRequestError) as refused:
            client.files.delete(batch.input_file_id)
        assert (refused.value.code, batch.id in refused.value.message) == ("file_in_use", True)
        again = client.batches.create(
            input_file_id=batch.input_file_id, endpoint=CHAT, completion_window="24h"
        )
        client.batches.cancel(again.id)
        assert over(client, again.id).status == "cancelled"
        with pytest.raises(openai.BadRequestError):
            client.files.delete(batch.input_file_id)
        client.batches.cancel(batch.id)
        assert over(client, batch.id).status == "cancelled"
        client.files.delete(batch.input_file_id)


def test_a_server_without_a_folder_says_so():
    with (
        served(create_app(NoModel())) as url,
        OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        asks = [
            lambda: client.files.create(file=b"x", purpose="batch"),
            lambda: client.files.retrieve("x"),
            lambda: client.batches.create(
                input_file_id="x", endpoint="/v1/completions", completion_window="24h"
            ),
            lambda: client.batches.list(),
        ]
        for ask in asks:
            with pytest.raises(openai.InternalServerError, match="keeps no files") as refused:
                ask()
            assert refused.value.status_code == 501


def test_a_name_is_kept_as_metadata_only(client, folder):
    file = client.files.create(file=("我的.jsonl", b"x"), purpose="batch")
    assert file.filename == "我的.jsonl"
    about = json.loads((folder / "files" / f"{file.id}.json").read_text("utf-8"))
    assert about["filename"] == "我的.jsonl"
    assert contents(folder) == [file.id, f"{file.id}.json"]
