"""The lines of a batch: requests in, answers and errors out, in OpenAI's form.

{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
{"id": "batch_req_...", "custom_id": "a", "response": {"status_code", "request_id", "body"},
 "error": null}
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from vedette.batch.journal import Journal
from vedette.batch.read_lines import raw_lines
from vedette.batch.results import KEY_BYTES, is_error
from vedette.batch.rows import MAX_RECORD_BYTES, json_kind

from .inside import Reply

FIELDS = ("custom_id", "method", "url", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A request. `key` is what its answer has in the journal: no two lines of a file share it."""

    custom_id: str
    url: str
    body: bytes
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no request. `key`: as that of `Line`."""

    key: bytes
    custom_id: str | None
    code: str
    message: str


AnyLine: TypeAlias = Line | BadLine


class _Wrong(Exception):
    """What is wrong with a line."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def read_lines(path: Path, url: str | None = None) -> Generator[AnyLine, None, None]:
    """The lines of a file, blank ones left out; with `url` all of them must name that one.

    Raises `OSError`.
    """
    seen: set[str] = set()
    with path.open("rb") as file:
        for number, raw in raw_lines(file):
            if raw is None or raw.strip():
                yield _line(number, raw, url, seen)


def count_lines(path: Path) -> int:
    """How many lines there are to answer. Raises `OSError`."""
    with path.open("rb") as file:
        return sum(raw is None or bool(raw.strip()) for _, raw in raw_lines(file))


def _line(number: int, raw: bytes | None, url: str | None, seen: set[str]) -> AnyLine:
    custom_id = None
    try:
        value = _object(raw)
        custom_id = _custom_id(value)
        if custom_id in seen:
            message = f"a line before it has the custom_id {custom_id!r}"
            raise _Wrong("duplicate_custom_id", message)
        seen.add(custom_id)
        _check(value, url)
    except _Wrong as wrong:
        message = f"line {number}: {wrong.message}"
        key = _key(b"%d " % number + (raw or b""))  # bad lines may be the same
        return BadLine(key=key, custom_id=custom_id, code=wrong.code, message=message)
    assert raw is not None
    return Line(
        custom_id=custom_id,
        url=value["url"],
        body=orjson.dumps(value["body"]),
        key=_key(raw),
    )


def _key(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=KEY_BYTES).digest()


def _object(raw: bytes | None) -> dict[str, Any]:
    if raw is None:
        raise _Wrong("line_too_long", f"it is longer than {MAX_RECORD_BYTES:,} bytes")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        problem = f"JSON: {error.msg}" if _is_utf8(raw) else "UTF-8"
        raise _Wrong("invalid_json", f"not valid {problem}") from error
    if not isinstance(value, dict):
        raise _Wrong("invalid_line", f"it is {json_kind(value)}, not an object")
    return value


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _custom_id(value: dict[str, Any]) -> str:
    found = value.get("custom_id")
    if not isinstance(found, str) or not found:
        raise _Wrong("invalid_custom_id", "custom_id: it should be a text that is not empty")
    return found


def _check(value: dict[str, Any], url: str | None) -> None:
    """Raises `_Wrong` for what is no request."""
    for name in value:
        if name not in FIELDS:
            raise _Wrong("unknown_field", f"there is no field {name}")
    if value.get("method") != "POST":
        raise _Wrong("invalid_method", "method: it should be POST")
    if not isinstance(value.get("url"), str):
        raise _Wrong("invalid_url", "url: it should be a path such as /v1/chat/completions")
    if url is not None and value["url"] != url:
        raise _Wrong("invalid_url", f"url: the batch is for {url}, not {value['url']}")
    if not isinstance(value.get("body"), dict):
        raise _Wrong("invalid_body", "body: it should be an object")
    if value["body"].get("stream"):
        raise _Wrong("unsupported_stream", "body.stream: a batch has whole answers")


def kept(reply: Reply) -> bytes:
    """A reply as the journal keeps it: the line without its custom_id."""
    response = b'{"status_code":%d,"request_id":"%b","body":%b}' % (
        reply.status,
        reply.request_id.encode(),
        _on_one_line(reply.body),
    )
    return b'{"ok":%b,"id":"%b","response":%b,"error":null}' % (
        b"true" if reply.is_ok else b"false",
        _own_id(uuid.uuid4().hex).encode(),
        response,
    )


def written(custom_id: str, body: bytes) -> bytes:
    """The line of an answer that the journal keeps."""
    _, own_id, rest = body.split(b",", 2)
    return b'{%b,"custom_id":%b,%b\n' % (own_id, orjson.dumps(custom_id), rest)


def refused(line: AnyLine, code: str, message: str) -> bytes:
    """The line of a request that was never answered; the same each time it is written."""
    result = {
        "id": _own_id(line.key.hex()),
        "custom_id": line.custom_id,
        "response": None,
        "error": {"code": code, "message": message},
    }
    return orjson.dumps(result) + b"\n"


def result_of(line: AnyLine, journal: Journal, why_not: tuple[str, str]) -> tuple[bool, bytes]:
    """Whether the line was answered, and its result; `why_not` is for one not asked."""
    if isinstance(line, BadLine):
        return False, refused(line, line.code, line.message)
    if line.key not in journal:
        return False, refused(line, *why_not)
    body = journal.get(line.key)
    return not is_error(body), written(line.custom_id, body)


def _on_one_line(body: bytes) -> bytes:
    """JSON as the journal can hold it, whose lines are records."""
    return body if b"\n" not in body else json.dumps(json.loads(body)).encode()


def _own_id(digits: str) -> str:
    return f"batch_req_{digits}"
