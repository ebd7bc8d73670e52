"""What is shown of a file: its changed lines, as many as its share of a budget holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from .diff import File, Hunk

MAX_LINE_CHARS = 200
_AROUND_CHARS = 60
_CHARS_PER_TOKEN = 8  # no tokenizer packs source tighter: a bound before tokens are counted

# Says little of what a change is for, and stands where a file begins.
_IMPORT = re.compile(
    r"[+-]\s*(?:import\s|from\s+\S+\s+import\b|#include\b|use\s+[\w:]+|using\s+\w)"
)

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A file as the model reads it. `left_out` are changed lines that had no room."""

    file: File
    text: str
    n_tokens: int
    left_out: int


def headline(file: File) -> str:
    """The file's name, what became of it, and how many lines."""
    name = f"{file.old_path} -> {file.path}" if file.old_path else file.path
    if file.is_submodule:
        return f"{name} (submodule {file.status})"
    return f"{name} ({file.status}, +{file.added} -{file.removed})"


def excerpt(
    file: File,
    limit_tokens: int,
    count_tokens: CountTokens,
    hunks: Sequence[Hunk] | None = None,
) -> Excerpt:
    """The file's headline, and its changed lines from the top within `limit_tokens`.

    With `hunks`, these are shown of the file, and all its other lines are left out.
    Unchanged and blank lines and imports are not shown (nor counted); where a hunk begins, git's
    own word on the place is (the function).
    Lines over `MAX_LINE_CHARS` are shown in part, around what differs. The headline is shown
    whatever its length.
    """
    lines = _lines(file.hunks if hunks is None else hunks, limit_tokens * _CHARS_PER_TOKEN)
    low, high = 0, len(lines)
    while low < high:  # the most lines that fit; the usual case is all of them
        middle = high if low == 0 and high == len(lines) else (low + high + 1) // 2
        if count_tokens(_text(file, lines[:middle])) <= limit_tokens:
            low = middle
        else:
            high = middle - 1
    while low and not lines[low - 1][1]:  # a place of which no line is shown says nothing
        low -= 1
    text = _text(file, lines[:low])
    worth = sum(_is_worth(line) for hunk in file.hunks for line in hunk.lines)
    shown = sum(is_change for _, is_change in lines[:low])
    return Excerpt(file, text, count_tokens(text), worth - shown)


def shares(sizes: Sequence[int], weights: Sequence[int], budget: int) -> list[int]:
    """A share of `budget` for each size, by weight: none is more than the size, the rest goes on.

    >>> shares([10, 500, 500], [1, 1, 1], 610)
    [10, 300, 300]
    """
    given = [0] * len(sizes)
    left, weight = budget, sum(weights)
    for i in sorted(range(len(sizes)), key=lambda i: sizes[i] / weights[i]):
        given[i] = min(sizes[i], left * weights[i] // weight)
        left -= given[i]
        weight -= weights[i]
    return given


def _lines(hunks: Sequence[Hunk], max_chars: int) -> list[tuple[str, bool]]:
    """Lines to show, up to `max_chars` in all, and whether each is a changed one."""
    found: list[tuple[str, bool]] = []
    left = max_chars
    for hunk in hunks:
        said = [line for line in _focused(hunk.lines, left) if _is_worth(line)]
        if said and left > 0:
            found.append((f"@@ {hunk.section}".rstrip(), False))
            found += [(line, True) for line in said]
            left -= sum(len(line) + 1 for line in said)
    return found


def _is_worth(line: str) -> bool:
    """Whether a line says something of the change."""
    return line.startswith(("+", "-")) and bool(line[1:].strip()) and not _IMPORT.match(line)


def _focused(lines: Sequence[str], max_chars: int) -> list[str]:
    """The changed lines; of long ones, what differs between a removed and the added line.

    Of a hunk that has far more than `max_chars`, the first lines are enough.

    A paragraph on one line would otherwise show its beginning, which is the same on both sides.
    """
    found: list[str] = []
    lines = lines[: max(0, max_chars)]  # a line has a character at least
    for is_changed, run in groupby(lines, key=lambda line: line.startswith(("+", "-"))):
        if is_changed:
            changed = list(run)
            sides = [[line for line in changed if line[0] == mark] for mark in "-+"]
            if len(sides[0]) != len(sides[1]):
                found += [_part(line) for line in changed]
                continue
            places = [_place(*pair) for pair in zip(*sides, strict=True)]
            for side in sides:
                found += [_part(line, *p) for line, p in zip(side, places, strict=True)]
    return found


def _place(removed: str, added: str) -> tuple[int, int]:
    """Where two long lines begin to differ, and how many characters at their end are the same."""
    if max(len(removed), len(added)) <= MAX_LINE_CHARS:
        return 1, 0
    shorter = min(len(removed), len(added))
    start = 1
    while start < shorter and removed[start] == added[start]:
        start += 1
    end = 0
    while end < shorter - start and removed[-1 - end] == added[-1 - end]:
        end += 1
    return start, end


def _part(line: str, start: int = 1, same_at_end: int = 0) -> str:
    """At most `MAX_LINE_CHARS` of a line, with some words before the place where it differs."""
    if len(line) <= MAX_LINE_CHARS:
        return line
    first = max(1, start - _AROUND_CHARS)
    last = min(len(line) - same_at_end + _AROUND_CHARS, first + MAX_LINE_CHARS, len(line))
    head = "..." if first > 1 else ""
    tail = "..." if last < len(line) else ""
    return f"{line[0]}{head}{line[first:last]}{tail}"


def _text(file: File, lines: Sequence[tuple[str, bool]]) -> str:
    return "\n".join([headline(file), *(line for line, _ in lines)])
