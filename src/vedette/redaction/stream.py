"""A text of any length, piece by piece, as if it were looked at whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from .detectors.base import MAX_SPAN_CHARS
from .placeholders import PLACEHOLDER, Entity, Placeholders
from .redactor import Redactor
from .span import Span

CHUNK_CHARS = 1 << 20
LEFT_CHARS = 1024
"""Text that is kept before a cut, for rules that look at what stands before a value."""
# What may still become a placeholder, at the end of a text.
_BEGUN = re.compile(r"\[(?:[A-Z][A-Z0-9_]{0,51}(?:\.(?:[1-9][0-9]{0,9})?)?)?\Z")
_LONGEST_BEGUN = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the redacted text, and what was replaced in it; offsets are of the whole."""

    text: str
    entities: list[Entity]


def redact_pieces(
    texts: Iterable[str],
    redactor: Redactor,
    placeholders: Placeholders,
    *,
    chunk_chars: int = CHUNK_CHARS,
) -> Iterator[Piece]:
    """The redacted text of `texts`, which are one text cut anywhere.

    No more than a chunk and the longest span is held. Cuts lie between lines, or between words
    where lines are longer than a chunk, and never inside a span.
    """
    source = iter(texts)
    held, start, done, is_last = "", 0, 0, False
    wanted = chunk_chars
    while not is_last or done < len(held):
        while not is_last and len(held) - done < wanted + MAX_SPAN_CHARS:
            text = next(source, None)
            is_last = text is None
            held += text or ""
        spans = [_after(span, done) for span in redactor.find(held) if span.end > done]
        cut = len(held) if is_last else _cut(held, done, spans)
        if cut <= done:
            wanted += chunk_chars
            continue
        wanted = chunk_chars
        ready = [replace(s, start=s.start - done, end=s.end - done) for s in spans if s.end <= cut]
        text, entities = placeholders.replace(held[done:cut], ready)
        by = start + done
        yield Piece(text, [replace(e, start=e.start + by, end=e.end + by) for e in entities])
        kept = max(0, cut - LEFT_CHARS)
        held, start, done = held[kept:], start + kept, cut - kept


def restore_pieces(texts: Iterable[str], mapping: dict[str, str], lost: set[str]) -> Iterator[str]:
    """The restored text of `texts`. Placeholders that the mapping lacks are added to `lost`."""

    def value(name: str) -> str:
        if name not in mapping:
            lost.add(name)
        return mapping.get(name, name)

    restorer = Restorer(value)
    for text in texts:
        yield restorer.feed(text)
    yield restorer.end()


class Restorer:
    """Puts values back into a text that comes in pieces, cut anywhere.

    Held back is only what may be the beginning of a placeholder. `value` is what a placeholder
    stands for: itself, where it stands for nothing.
    """

    def __init__(self, value: Callable[[str], str]) -> None:
        self._value = value
        self._held = ""

    @classmethod
    def of(cls, mapping: Mapping[str, str]) -> Restorer:
        """With the values of a mapping."""
        return cls(lambda name: mapping.get(name, name))

    def feed(self, text: str) -> str:
        """What can be let out now that this piece has come."""
        held = self._held + text
        begun = _BEGUN.search(held, max(0, len(held) - _LONGEST_BEGUN))
        cut = begun.start() if begun else len(held)
        self._held = held[cut:]
        return self._restored(held[:cut])

    def end(self) -> str:
        """The rest: no further piece comes."""
        held, self._held = self._held, ""
        return self._restored(held)

    def _restored(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda found: self._value(found[0]), text)


def _after(span: Span, done: int) -> Span:
    """What is left of a span behind what has been let out."""
    return span if span.start >= done else replace(span, start=done, canonical="")


def _cut(held: str, done: int, spans: list[Span]) -> int:
    """Up to where the text can be let out; `done` if that is nowhere yet."""
    most = len(held) - MAX_SPAN_CHARS
    cut = held.rfind("\n", done, most) + 1
    if cut <= done:
        cut = held.rfind(" ", done, most) + 1
    if cut <= done:
        cut = most
    crossing = [span.start for span in spans if span.start < cut < span.end]
    return min(crossing, default=cut)
