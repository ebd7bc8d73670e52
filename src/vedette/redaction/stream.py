"""A text of any length, piece by piece, as if it were looked at whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .detectors.base import MAX_SPAN_CHARS
from .placeholders import PLACEHOLDER, Entity, Placeholders
from .redactor import Redactor
from .span import Span

CHUNK_CHARS = 1 << 20
LEFT_CHARS = 1024
"""Text that is kept before a cut, for rules that look at what stands before a value."""
_LONGEST_PLACEHOLDER = 80


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

    held = ""
    for text in texts:
        held += text
        opened = held.rfind("[", max(0, len(held) - _LONGEST_PLACEHOLDER))
        cut = len(held) if opened < 0 else opened
        yield PLACEHOLDER.sub(lambda found: value(found[0]), held[:cut])
        held = held[cut:]
    yield PLACEHOLDER.sub(lambda found: value(found[0]), held)


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
