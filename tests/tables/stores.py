"""What the tests of both databases share: a schema of everything, and result lines."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": ["string", "null"]},
        "day": {"type": "string", "format": "date"},
        "at": {"type": ["string", "null"], "format": "date-time"},
        "n": {"type": "integer"},
        "total": {"type": ["number", "null"]},
        "paid": {"type": "boolean"},
        "kind": {"enum": ["cash", 'it\'s 100% \\ "card"', None]},
        "lines": {"type": "array"},
    },
    "required": ["company", "day", "at", "n", "total", "paid", "kind", "lines"],
}
VALUE: dict[str, Any] = {
    "company": "O'Hare; DROP TABLE bills --",
    "day": "2026-01-31",
    "at": "2026-01-31T12:00:00+02:00",
    "n": 2**62,
    "total": 19.7,
    "paid": True,
    "kind": 'it\'s 100% \\ "card"',
    "lines": [{"a": "茶"}, None],
}
HOSTILE = (
    'a"b',
    "a'b",
    "a%b",
    "a%(b)s",
    ":c",
    "a.b",
    "select",
    "größe",
    "a b",
    "a;DROP TABLE x",
    "a[0]",
    "sha256",
    "c0",
)


def sha(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def ok(value: object = VALUE, **more: object) -> bytes:
    return orjson.dumps({"ok": True, "value": value, "usage": {}, **more})


def bad(code: str = "invalid_picture") -> bytes:
    error = {"code": code, "message": "is no picture", "hint": "draw one"}
    return orjson.dumps({"ok": False, "error": error})
