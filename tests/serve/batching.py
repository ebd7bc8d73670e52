"""What tests of files and batches share."""

from __future__ import annotations

import json
from contextlib import contextmanager

from openai import OpenAI
from served import served, wait_until

from vedette.serve.app import create_app
from vedette.serve.file_store import FileStore
from vedette.serve.options import ServeOptions

CHAT = "/v1/chat/completions"
OVER = ("completed", "failed", "cancelled", "expired")


@contextmanager
def serving(backend, folder, options=None, *, key="none", **limits):
    """A client of a server that keeps its files in the folder."""
    options = options or ServeOptions(model="tiny", max_tokens=12)
    with (
        FileStore(folder, **limits) as store,
        served(create_app(backend, options, store)) as url,
        OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client,
    ):
        yield client


def chat_line(custom_id, content="hello", **fields) -> dict:
    body = {"model": "tiny", "messages": [{"role": "user", "content": content}], **fields}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}


def as_jsonl(lines) -> bytes:
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )


def send(client, lines, name="in.jsonl"):
    return client.files.create(file=(name, as_jsonl(lines)), purpose="batch")


def begin(client, lines, endpoint=CHAT, **fields):
    """A batch of these lines, under way."""
    file = send(client, lines)
    fields = {"completion_window": "24h", **fields}
    return client.batches.create(input_file_id=file.id, endpoint=endpoint, **fields)


def over(client, batch_id):
    """The batch once it is over."""
    found = []

    def is_over() -> bool:
        found[:] = [client.batches.retrieve(batch_id)]
        return found[0].status in OVER

    wait_until(is_over)
    return found[0]


def rows(client, file_id) -> list[dict]:
    """The lines of a file of results."""
    if file_id is None:
        return []
    return [json.loads(line) for line in client.files.content(file_id).content.splitlines()]
