"""For every task a body that it answers, on a model that knows no language."""

from __future__ import annotations

import pytest

from vedette.tasks.commit.diff import SAMPLE

TEXT = "the server failed: ERROR on request"
LONG = "The server failed. It was down. " * 30
LABELS = ["positive", "negative"]
SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "ERROR"]}, "ok": {"type": "boolean"}},
    "required": ["level", "ok"],
}
TOOL = {
    "name": "restart",
    "description": "restart a server",
    "parameters": {
        "type": "object",
        "properties": {"level": {"enum": ["INFO", "ERROR"]}},
        "required": ["level"],
    },
}
SPEC = {
    "prog": "app",
    "options": [{"flags": ["--level"], "type": "string", "choices": ["INFO", "WARN"]}],
}

BODIES = {
    "classify": {"input": TEXT, "options": {"labels": LABELS}},
    "decide": {"input": TEXT, "options": {"questions": ["Is it urgent?", "team=Who? a|b"]}},
    "sentiment": {"input": TEXT},
    "tag": {"input": TEXT, "options": {"labels": {"error": "it failed", "name": "a name"}}},
    "triage": {"input": TEXT, "options": {"teams": ["billing", "shipping"]}},
    "metadata": {"input": TEXT},
    "route": {"input": {"text": "say the level", "input": TEXT}, "options": {"rules_only": True}},
    "extract": {"input": TEXT, "options": {"schema": SCHEMA}},
    "form": {
        "input": {"text": TEXT, "known": {"level": "INFO"}},
        "options": {"schema": SCHEMA},
    },
    "tool": {"input": TEXT, "options": {"tools": [TOOL], "required": True}},
    "command": {"input": TEXT, "options": {"spec": SPEC}},
    "config-text": {"input": TEXT, "options": {"schema": SCHEMA, "to": "toml"}},
    "sql": {
        "input": "how many at all",
        "options": {"tables": "CREATE TABLE log (level TEXT, n INTEGER)", "max_tokens": 64},
    },
    "redact": {"input": "write to ann@example.com"},
    "guard": {"input": TEXT, "options": {"policies": ["secrets"], "rules_only": True}},
    "compress": {"input": LONG, "options": {"budget": 40}},
    "summarise": {"input": LONG, "options": {"words": 20}},
    "rewrite": {"input": {"text": "why did it fail?", "history": "user: hello"}},
    "rerank": {"input": {"query": "the server", "documents": [TEXT, "yes"]}},
    "commit": {"input": SAMPLE},
    "pr": {"input": SAMPLE},
    "changelog": {"input": "fix: the server failed"},
    "clean": {
        "input": {"day": "3 March 2024"},
        "options": {
            "rules_only": True,
            "schema": {
                "type": "object",
                "properties": {"day": {"type": "string", "format": "date"}},
            },
        },
    },
    "dedupe": {"inputs": [TEXT, {"id": "b", "text": TEXT}, "another"]},
}


def alike(left, right, within) -> bool:
    """The same, but for the last digits of what was computed in other company."""
    if isinstance(left, dict):
        same_keys = left.keys() == right.keys()
        return same_keys and all(alike(left[key], right[key], within) for key in left)
    if isinstance(left, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(alike(*pair, within) for pair in pairs)
    if isinstance(left, float):
        return left == pytest.approx(right, abs=within)
    return left == right
