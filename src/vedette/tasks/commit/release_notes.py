"""Entries to a changelog in the form of Keep a Changelog 1.1.0 (keepachangelog.com)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from vedette.types import Json

from .entry import INTERNAL, headings

BREAKING = "Breaking changes"
SHORT_HASH_CHARS = 7

_PULL_REQUEST = re.compile(r"\s*\(#\d+\)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a changelog, and the commits that it comes from."""

    heading: str
    text: str
    commits: tuple[str, ...]
    scope: str | None = None
    breaking: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Entries with the same key say the same."""
        bare = _PULL_REQUEST.sub("", self.text).rstrip(".。").casefold()
        return (self.heading, (self.scope or "").casefold(), " ".join(bare.split()))

    def __str__(self) -> str:
        scope = f"{self.scope}: " if self.scope else ""
        hashes = ", ".join(name[:SHORT_HASH_CHARS] for name in self.commits)
        text = self.text
        if self.breaking and self.breaking != self.text:
            text = f"{text.rstrip('.')}. {self.breaking}"
        return f"- {scope}{text} ({hashes})"


@dataclass(frozen=True, slots=True)
class ReleaseNotes:
    """Sections in order, each with its entries; and those that are not listed."""

    title: str
    sections: tuple[tuple[str, tuple[Entry, ...]], ...]
    not_listed: tuple[Entry, ...] = field(default=())

    @property
    def markdown(self) -> str:
        """The part of a changelog for one release."""
        parts = [f"## {self.title}"]
        for heading, entries in self.sections:
            parts.append("\n".join([f"### {heading}", "", *map(str, entries)]))
        return "\n\n".join(parts) + "\n"

    def as_json(self) -> dict[str, Json]:
        """The same for machines, with full hashes."""
        return {
            "title": self.title,
            "sections": [
                {"heading": heading, "entries": [_as_json(entry) for entry in entries]}
                for heading, entries in self.sections
            ],
            "not_listed": [_as_json(entry) for entry in self.not_listed],
        }


def entry_of(commit: str, value: dict[str, Any]) -> Entry:
    """The entry of one commit, from the value of `WriteEntry`."""
    return Entry(value["heading"], value["text"], (commit,), value["scope"], value["breaking"])


def release_notes(entries: Iterable[Entry], title: str, *, internal: bool = False) -> ReleaseNotes:
    """Entries by heading, breaking ones first; those that say the same are one with all commits.

    What users do not notice is not listed unless `internal`, or unless it breaks something.
    """
    merged: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        known = merged.get(entry.key)
        merged[entry.key] = entry if known is None else _joined(known, entry)
    breaking = tuple(entry for entry in merged.values() if entry.breaking)
    sections = [(BREAKING, breaking)] if breaking else []
    rest = [entry for entry in merged.values() if not entry.breaking]
    hidden = tuple(entry for entry in rest if entry.heading == INTERNAL and not internal)
    for heading in headings():
        found = tuple(e for e in rest if e.heading == heading and e not in hidden)
        if found:
            sections.append((heading, found))
    return ReleaseNotes(title, tuple(sections), hidden)


def _joined(one: Entry, other: Entry) -> Entry:
    return replace(
        one, commits=(*one.commits, *other.commits), breaking=one.breaking or other.breaking
    )


def _as_json(entry: Entry) -> dict[str, Json]:
    return {
        "heading": entry.heading,
        "text": entry.text,
        "scope": entry.scope,
        "breaking": entry.breaking,
        "commits": [*entry.commits],
    }
