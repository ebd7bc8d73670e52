"""A text cut into blocks (headings, paragraphs, turns, list items, code) and these into sentences.

Nothing is left out but white space between units, and offsets are exact:
`unit.text(source) == source[unit.start:unit.end]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["heading", "paragraph", "turn", "item", "row", "code"]

# A longer sentence is cut, at the best place before this; Chinese says about as much in fewer.
LONGEST_CHARS = 600
LONGEST_UNSPACED_CHARS = 200

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"#{1,6}\s+\S|第[一二三四五六七八九十百零\d]+[章节部回]")
_ITEM = re.compile(r"\s*(?:[-*+•·]|\(?\d{1,3}[.)、]|[a-z][.)])\s+\S|\s*\d{1,3}、\S")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_INDENTED = re.compile(r"(?: {4}|\t)\S")
# A speaker's name at the start of a line: up to five capitalised words, or a few Han characters.
_SPEAKER = re.compile(
    r"[\[(]?(?:[A-Z][\w.'’&-]*(?: [A-Z0-9][\w.'’&-]*| (?:de|van|von|of|the)\b){0,4}"
    r"|[\u4e00-\u9fff·]{1,8})[\])]?(?: ?\(\d[\d:.]*\))?(?:: |:$|：)"
)

_CLOSING = "\"'’”)\\]」』）》"
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“‘])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Nos|Fig|Figs|Eq|Vol|pp|p|vs|cf|etc|e\.g|i\.e"
    r"|approx|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec|al|[A-Z]|"
    r"(?:[A-Za-z]\.)+[A-Za-z])\.$"
)
_END = re.compile(rf"[.!?]+[{_CLOSING}]*(?=\s|$)|[。！？]+[{_CLOSING}]*|……[{_CLOSING}]*")
_SOFT_CUTS = (
    re.compile(r"\n"),
    re.compile(r"[;；:：]\s*"),
    re.compile(r"[,，、]\s*"),
    re.compile(r"\s+"),
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Block:
    """What stands together: `[start, end)` of the source. `label_end` is where a turn's name ends.

    `label_end` equals `start` where there is no name.
    """

    start: int
    end: int
    kind: Kind
    label_end: int


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a heading, a table row or some lines of code: the least that is kept or dropped.

    `block` counts blocks from 0; `is_first` says that its block begins with it, `label` where the
    name of who says it stands (an empty stretch where nobody is named).
    """

    start: int
    end: int
    block: int
    kind: Kind
    is_first: bool
    label: tuple[int, int]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text, in order."""
    open_at, label_end, last_end = -1, -1, 0
    open_kind: Kind = "paragraph"
    fence = ""

    def closed() -> Iterator[Block]:
        if open_at >= 0:
            yield Block(open_at, last_end, open_kind, label_end)

    for start, end in _lines(text):
        line = text[start:end]
        bare = line.strip()
        first = start + len(line) - len(line.lstrip())
        last = first + len(bare)
        if fence:
            last_end = last if bare else last_end
            if bare.startswith(fence):
                yield from closed()
                open_at, fence = -1, ""
            continue
        if match := _FENCE.match(line):
            yield from closed()
            fence, open_at, open_kind, label_end, last_end = (
                match[1][:3],
                first,
                "code",
                first,
                last,
            )
            continue
        if not bare:
            yield from closed()
            open_at = -1
            continue
        kind, label = _kind_of(line, bare, first, is_open=open_at >= 0)
        if kind is None:  # goes on with the open block
            last_end = last
            continue
        yield from closed()
        open_at, open_kind, label_end, last_end = first, kind, label, last
        if kind in ("heading", "row"):
            yield from closed()
            open_at = -1
    yield from closed()


def _kind_of(line: str, bare: str, first: int, *, is_open: bool) -> tuple[Kind | None, int]:
    """What a line opens, and where its label ends; None where it goes on with the open block."""
    if _HEADING.match(bare) and len(bare) <= 200:
        return "heading", first
    if _ROW.match(line):
        return "row", first
    if _ITEM.match(line):
        return "item", first
    if match := _SPEAKER.match(bare):
        return "turn", first + match.end()
    if is_open:
        return None, first
    if _INDENTED.match(line):
        return "code", first
    return "paragraph", first


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield at, end
        at = end + 1


def units(text: str) -> Iterator[Unit]:
    """The units of a text, in order."""
    for number, block in enumerate(blocks(text)):
        first = True
        for start, end in _parts(text, block):
            yield Unit(start, end, number, block.kind, first, (block.start, block.label_end))
            first = False


def _parts(text: str, block: Block) -> Iterator[tuple[int, int]]:
    if block.kind in ("heading", "row"):
        spans: Iterator[tuple[int, int]] = iter([(block.start, block.end)])
    elif block.kind == "code":
        spans = _paragraphs_of_code(text, block)
    else:
        spans = sentences(text, block.start, block.end)
    for start, end in spans:
        yield from _short_enough(text, start, end)


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of `text[start:end]`, white space around them left out."""
    at = start
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if text[match.start()] == "." and not _is_end(text, at, match.start(), stop, end):
            continue
        if found := _trimmed(text, at, stop):
            yield found
        at = stop
    if found := _trimmed(text, at, end):
        yield found


def _is_end(text: str, start: int, dot: int, stop: int, end: int) -> bool:
    """Whether a full stop ends a sentence: no abbreviation, and no small letter after it."""
    following = text[stop:end].lstrip()[:1] if stop < end else ""
    if following.islower():
        return False
    return not _ABBREVIATION.search(text[max(start, dot - 12) : dot + 1])


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    last = first + len(part.strip())
    return (first, last) if last > first else None


def _paragraphs_of_code(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Code is cut at its blank lines only."""
    at = block.start
    for match in re.finditer(r"\n[ \t]*\n\s*", text[block.start : block.end]):
        if found := _right_trimmed(text, at, block.start + match.start()):
            yield found
        at = block.start + match.end()
    if found := _right_trimmed(text, at, block.end):
        yield found


def _right_trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end].rstrip()
    return (start, start + len(part)) if part.strip() else None


def _short_enough(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST_UNSPACED_CHARS:
        longest = _longest(text, start, end)
        if end - start <= longest:
            break
        stop = _soft_cut(text, start, start + longest)
        if found := _trimmed(text, start, stop):
            yield found
        start = stop
    if found := _trimmed(text, start, end):
        yield found


def _longest(text: str, start: int, end: int) -> int:
    return LONGEST_UNSPACED_CHARS if is_dense(text, start, end) else LONGEST_CHARS


def is_dense(text: str, start: int, end: int) -> bool:
    """Whether a stretch is mostly of a script without spaces, which says more in a character."""
    sample = text[start : min(end, start + LONGEST_UNSPACED_CHARS)]
    return len(_UNSPACED.findall(sample)) * 2 > len(sample)


def _soft_cut(text: str, start: int, end: int) -> int:
    """The last good place in the second half of what fits; else its end."""
    half = start + (end - start) // 2
    for pattern in _SOFT_CUTS:
        stops = [match.end() for match in pattern.finditer(text, half, end)]
        if stops:
            return stops[-1]
    return end
