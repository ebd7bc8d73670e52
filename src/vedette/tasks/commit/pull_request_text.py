"""The text of a pull request, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_TESTS_NAMED = 12


def markdown_of(value: Mapping[str, Any]) -> str:
    """Title, summary, files by area, tests: the value of `WritePullRequest` as a text."""
    parts = [f"# {value['title']}"]
    if value["summary"]:
        lines = [
            f"- **{', '.join(entry['areas'])}**: {entry['text']}" for entry in value["summary"]
        ]
        parts.append("\n".join(["## Summary", "", *lines]))
    parts.append("\n".join(["## Files", *_files(value)]))
    if value["tests"]:
        parts.append("\n".join(["## Tests", "", *map(_test, value["tests"])]))
    return "\n\n".join(parts) + "\n"


def _files(value: Mapping[str, Any]) -> list[str]:
    unread = {entry["path"]: entry["why"] for entry in value["read"]["unread"]}
    lines: list[str] = []
    for area in value["files"]:
        lines += ["", f"{area['area']}:", ""]
        for file in area["files"]:
            why = f"; not read: {unread[file['path']]}" if file["path"] in unread else ""
            lines.append(f"- {file['headline']}{why}")
    return lines


def _test(entry: Mapping[str, Any]) -> str:
    facts = [
        f"{what} {', '.join(names[:MAX_TESTS_NAMED])}"
        + (f" and {len(names) - MAX_TESTS_NAMED} more" if len(names) > MAX_TESTS_NAMED else "")
        for what in ("added", "removed")
        if (names := entry[what])
    ]
    return f"- {entry['path']} ({entry['status']}): {'; '.join(facts) or 'tests changed'}"
