"""Job identity, row keys and result lines: what is hashed and what is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TypeAlias

import orjson

from vedette.backends.base import Backend
from vedette.errors import VedetteError
from vedette.tasks.base import CutsTexts, Task
from vedette.types import Answer, Item, Json

from .rows import BadRow, Row

Outcome: TypeAlias = Answer | VedetteError

KEY_BYTES = 16
RESERVED = ("id", "ok", "value", "usage", "error", "picture")


def job_identity(
    task: Task, backend: Backend, reading: dict[str, Json] | None = None
) -> dict[str, Json]:
    """All that the job's answers depend on besides the rows; `reading` if pictures are read."""
    identity: dict[str, Json] = {
        "task": {"name": task.name, **task.identity},
        "backend": backend.identity,
    }
    useful_tokens = backend.capabilities.useful_tokens
    if isinstance(task, CutsTexts) and useful_tokens is not None:
        identity["useful_tokens"] = useful_tokens
    if reading is not None:
        identity["reading"] = reading
    return identity


def job_hash(identity: dict[str, Json]) -> bytes:
    """SHA-256 of the identity as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).digest()


def row_key(job: bytes, item: Item) -> bytes:
    """16 bytes that two rows share when nothing that the task sees differs between them.

    A picture goes by its own hash: a row of an earlier run is known without being read again.
    """
    sha256 = item.picture_sha256
    what: list[object] = [item.text] if sha256 is None else ["picture", sha256]
    seen = orjson.dumps([*what, item.columns], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(seen, digest_size=KEY_BYTES, key=job).digest()


def body_of(outcome: Outcome, about: Mapping[str, Json] | None = None) -> bytes:
    """The result line without its id. It holds only what is the same in every run of the job.

    So no timings, and no cached tokens: those depend on what stood in the cache by chance.
    `about` are further keys that say where the row came from, in error lines too.
    """
    about = about or {}
    if isinstance(outcome, VedetteError):
        return _json({"ok": False, "error": outcome.as_dict(), **about})
    clash = [key for key in outcome.extra if key in RESERVED]
    if clash:
        raise ValueError(f"a task's extra key {clash[0]!r} is a key of every result line")
    usage = {
        "prompt_tokens": outcome.usage.prompt_tokens,
        "completion_tokens": outcome.usage.completion_tokens,
        "forced_tokens": outcome.usage.forced_tokens,
    }
    return _json({"ok": True, "value": outcome.value, "usage": usage, **outcome.extra, **about})


def content_sha256(row: Row) -> str:
    """The same for the same content, in every job: of a picture, its file's own hash.

    Of a text without columns it is the hash of its UTF-8. A row that could not be read goes by
    its id.
    """
    if isinstance(row, BadRow):
        return row.picture_sha256 or _sha256(f"id:{row.id}".encode("utf-8", "surrogatepass"))
    if row.picture_sha256 is None and not row.columns:
        return _sha256(row.text.encode())
    if row.picture_sha256 is not None and not row.columns:
        return row.picture_sha256
    seen = [row.picture_sha256 or row.text, row.columns]
    return _sha256(orjson.dumps(seen, option=orjson.OPT_SORT_KEYS))


def about_row(row: Row) -> dict[str, Json]:
    """What its result line says of where it came from: nothing, unless that was a picture."""
    if isinstance(row, BadRow):
        return {"picture": {"sha256": row.picture_sha256}} if row.picture_sha256 else {}
    return {} if row.reading is None else {"picture": row.reading.as_dict()}


def line_of(row_id: str, body: bytes) -> bytes:
    """The whole result line, newline included."""
    return b'{"id":' + orjson.dumps(row_id) + b"," + body[1:] + b"\n"


def is_error(body: bytes) -> bool:
    """Whether the row was not answered."""
    return body.startswith(b'{"ok":false')


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _json(value: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
