"""Job identity, row keys and result lines: what is hashed and what is written."""

from __future__ import annotations

import hashlib
import json
from typing import TypeAlias

import orjson

from vedette.backends.base import Backend
from vedette.errors import VedetteError
from vedette.tasks.base import CutsTexts, Task
from vedette.types import Answer, Item, Json

Outcome: TypeAlias = Answer | VedetteError

KEY_BYTES = 16
RESERVED = ("id", "ok", "value", "usage", "error")


def job_identity(task: Task, backend: Backend) -> dict[str, Json]:
    """All that the job's answers depend on besides the rows."""
    identity: dict[str, Json] = {
        "task": {"name": task.name, **task.identity},
        "backend": backend.identity,
    }
    useful_tokens = backend.capabilities.useful_tokens
    if isinstance(task, CutsTexts) and useful_tokens is not None:
        identity["useful_tokens"] = useful_tokens
    return identity


def job_hash(identity: dict[str, Json]) -> bytes:
    """SHA-256 of the identity as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).digest()


def row_key(job: bytes, item: Item) -> bytes:
    """16 bytes that two rows share when nothing that the task sees differs between them."""
    seen = orjson.dumps([item.text, item.columns], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(seen, digest_size=KEY_BYTES, key=job).digest()


def body_of(outcome: Outcome) -> bytes:
    """The result line without its id. It holds only what is the same in every run of the job.

    So no timings, and no cached tokens: those depend on what stood in the cache by chance.
    """
    if isinstance(outcome, VedetteError):
        return _json({"ok": False, "error": outcome.as_dict()})
    clash = [key for key in outcome.extra if key in RESERVED]
    if clash:
        raise ValueError(f"a task's extra key {clash[0]!r} is a key of every result line")
    usage = {
        "prompt_tokens": outcome.usage.prompt_tokens,
        "completion_tokens": outcome.usage.completion_tokens,
        "forced_tokens": outcome.usage.forced_tokens,
    }
    return _json({"ok": True, "value": outcome.value, "usage": usage, **outcome.extra})


def line_of(row_id: str, body: bytes) -> bytes:
    """The whole result line, newline included."""
    return b'{"id":' + orjson.dumps(row_id) + b"," + body[1:] + b"\n"


def is_error(body: bytes) -> bool:
    """Whether the row was not answered."""
    return body.startswith(b'{"ok":false')


def _json(value: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
