"""Placeholders in place of values, the same one for the same value, and the way back.

`[EMAIL_1]` is the first e-mail address of the input, wherever it stands; `[EMAIL_1.2]` is the same
address in a second spelling, so that every spelling comes back as it was. A text that has something
of this form already has it replaced as well (`[TEXT_1]`), so nothing can be mistaken for a
placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vedette.errors import InputError

from .scan import Scan
from .span import Span

PLACEHOLDER = re.compile(r"\[([A-Z][A-Z0-9_]{0,40})_([1-9][0-9]{0,9})(?:\.([1-9][0-9]{0,9}))?\]")
KIND = re.compile(r"[a-z][a-z0-9_]{0,40}")
"""What a kind may be called: its placeholders have it in capitals."""

TEXT_KIND = "text"
"""The kind of what looked like a placeholder before."""


class LooksLikePlaceholder:
    """Implements `Detector`."""

    kinds = frozenset({TEXT_KIND})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for found in PLACEHOLDER.finditer(scan.text):
            yield Span(*found.span(), TEXT_KIND, "looks-like-placeholder", 1.0, found[0])


@dataclass(frozen=True, slots=True)
class Entity:
    """A value that was replaced: where it stood, as what and why, and what stands there now."""

    start: int
    end: int
    kind: str
    rule: str
    score: float
    placeholder: str
    value: str


class Placeholders:
    """The values of one input (or of one vault) and their placeholders. Grows as texts come.

    `entries` are (placeholder, value, canonical value), from an earlier input. Raises `InputError`
    for entries that are none.
    """

    def __init__(self, entries: Iterator[tuple[str, str, str]] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._canonical: dict[str, str] = {}
        self._by_value: dict[tuple[str, str], str] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._spellings: dict[tuple[str, int], int] = {}
        self._counts: dict[str, int] = {}
        for placeholder, value, canonical in entries or ():
            self._add(placeholder, value, canonical)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def mapping(self) -> dict[str, str]:
        """Placeholder -> value."""
        return dict(self._values)

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """(placeholder, value, canonical value), the first one first."""
        return ((name, value, self._canonical[name]) for name, value in self._values.items())

    def of(self, kind: str, value: str, canonical: str) -> str:
        """The placeholder of a value, made if it has none yet."""
        known = self._by_value.get((kind.upper(), value))
        if known is not None:
            return known
        name = kind.upper()
        number = self._numbers.get((name, canonical or value)) or self._counts.get(name, 0) + 1
        spelling = self._spellings.get((name, number), 0) + 1
        suffix = f".{spelling}" if spelling > 1 else ""
        placeholder = f"[{name}_{number}{suffix}]"
        self._add(placeholder, value, canonical or value)
        return placeholder

    def replace(self, text: str, spans: list[Span]) -> tuple[str, list[Entity]]:
        """The text with its spans (in order, none overlapping) replaced, and what they were."""
        parts: list[str] = []
        entities: list[Entity] = []
        done = 0
        for span in spans:
            value = text[span.start : span.end]
            name = self.of(span.kind, value, span.canonical)
            parts += (text[done : span.start], name)
            entities.append(
                Entity(span.start, span.end, span.kind, span.rule, span.score, name, value)
            )
            done = span.end
        parts.append(text[done:])
        return "".join(parts), entities

    def _add(self, placeholder: str, value: str, canonical: str) -> None:
        form = PLACEHOLDER.fullmatch(placeholder)
        if form is None or placeholder in self._values:
            raise InputError(f"{placeholder!r} is no placeholder, or is there twice")
        name, number, spelling = form[1], int(form[2]), int(form[3] or 1)
        self._values[placeholder] = value
        self._canonical[placeholder] = canonical
        self._by_value[name, value] = placeholder
        self._numbers.setdefault((name, canonical), number)
        key = (name, number)
        self._spellings[key] = max(self._spellings.get(key, 0), spelling)
        self._counts[name] = max(self._counts.get(name, 0), number)


def restore(text: str, mapping: Mapping[str, str]) -> str:
    """The text with the values back in the places of their placeholders, wherever these stand now.

    A placeholder that `mapping` does not have stays as it is; see `unknown_placeholders`.
    """
    return PLACEHOLDER.sub(lambda found: mapping.get(found[0], found[0]), text)


def unknown_placeholders(text: str, mapping: Mapping[str, str]) -> list[str]:
    """What looks like a placeholder and is none of the mapping's, in order, without repeats."""
    names = (found[0] for found in PLACEHOLDER.finditer(text))
    return list(dict.fromkeys(name for name in names if name not in mapping))
