"""From lines of text with their places to one text, in the order in which a person reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

CELL_GAP = "  "
"""Between what stands side by side in one row, such as a label and its amount."""

LEAST_COLUMN_LINES = 4
LEAST_COLUMN_CHARS = 20
"""Columns of prose have so many lines, half of them at least so long. Shorter ones are a table."""

_STEEPEST = math.radians(20)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text as it was found: its corners clockwise from the top left, in pixels.

    `confidence` is the reader's own, from 0 to 1.
    """

    text: str
    confidence: float
    corners: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Page:
    """What was read off a picture: lines in reading order; `n_unsure` were left out as too unsure.

    A blank line in `text` parts columns.
    """

    blocks: tuple[tuple[tuple[Line, ...], ...], ...]
    """Columns of rows of lines."""
    n_unsure: int = 0

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All lines in reading order."""
        return tuple(line for block in self.blocks for row in block for line in row)

    @cached_property
    def text(self) -> str:
        """Rows as lines of text."""
        rows = (
            "\n".join(CELL_GAP.join(line.text for line in row) for row in block)
            for block in self.blocks
        )
        return "\n\n".join(rows)

    @property
    def confidence(self) -> float | None:
        """The mean over all characters; None where nothing was read."""
        n_chars = sum(len(line.text) for line in self.lines)
        if not n_chars:
            return None
        return sum(line.confidence * len(line.text) for line in self.lines) / n_chars


@dataclass(frozen=True, slots=True)
class _Box:
    """The upright rectangle of a line, after the page has been turned straight."""

    line: Line
    left: float
    right: float
    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


def page_of(lines: Sequence[Line], n_unsure: int = 0) -> Page:
    """The lines in reading order: columns from left to right, in each rows from top to bottom.

    Columns are kept apart only where both sides are prose; what stands beside each other in a
    table or a receipt is one row.
    """
    straight = _straightened(lines)
    blocks = tuple(
        tuple(tuple(box.line for box in row) for row in _rows(block))
        for block in _columns(straight)
    )
    return Page(blocks=blocks, n_unsure=n_unsure)


def _straightened(lines: Sequence[Line]) -> list[_Box]:
    """Boxes of the lines, turned by the angle at which most of them lie."""
    angles = [_angle(line) for line in lines]
    slope = median(angles) if angles else 0.0
    if abs(slope) > _STEEPEST:  # not a page that lies a little askew
        slope = 0.0
    cos, sin = math.cos(-slope), math.sin(-slope)
    boxes = []
    for line in lines:
        turned = [(x * cos - y * sin, x * sin + y * cos) for x, y in line.corners]
        xs, ys = [x for x, _ in turned], [y for _, y in turned]
        boxes.append(_Box(line, min(xs), max(xs), min(ys), max(ys)))
    return boxes


def _angle(line: Line) -> float:
    """Of its upper edge, in radians; clockwise, as y points down."""
    (x0, y0), (x1, y1) = line.corners[:2]
    return math.atan2(y1 - y0, x1 - x0)


def _rows(boxes: Sequence[_Box]) -> list[list[_Box]]:
    """Boxes beside each other, from top to bottom, each row from left to right."""
    rows: list[list[_Box]] = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if rows and _is_beside(box, rows[-1]):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [sorted(row, key=lambda box: box.left) for row in rows]


def _is_beside(box: _Box, row: Sequence[_Box]) -> bool:
    """Whether it is level with the row, and nothing of the row is where it is."""
    middle = sum(other.middle for other in row) / len(row)
    height = min(box.height, *(other.height for other in row))
    if abs(box.middle - middle) > height / 2:
        return False
    return all(
        box.left >= other.right - height or box.right <= other.left + height for other in row
    )


def _columns(boxes: list[_Box]) -> list[list[_Box]]:
    """The boxes of each column of prose; all of them where there is but one.

    A line over the whole width, such as a headline, ends the columns above it and stands alone.
    """
    gutter = _gutter(boxes)
    if gutter is None:
        return [boxes] if boxes else []
    across = [box for box in boxes if box.left < gutter < box.right]
    blocks: list[list[_Box]] = []
    borders = sorted(across, key=lambda box: box.middle)
    rest = [box for box in boxes if not box.left < gutter < box.right]
    for border in (*borders, None):
        above = [box for box in rest if border is None or box.middle < border.middle]
        rest = [box for box in rest if border is not None and box.middle >= border.middle]
        for side in (
            [box for box in above if box.right <= gutter],
            [box for box in above if box.left >= gutter],
        ):
            blocks += _columns(side)
        if border is not None:
            if blocks and all(box in across for box in blocks[-1]):
                blocks[-1].append(border)
            else:
                blocks.append([border])
    return blocks


def _gutter(boxes: Sequence[_Box]) -> float | None:
    """Where a line from top to bottom parts two columns of prose, or None.

    Lines over the whole width may cross it, fewer than stand on either side.
    """
    if len(boxes) < 2 * LEAST_COLUMN_LINES:
        return None
    found: list[tuple[int, float]] = []
    for x in {box.right + 1 for box in boxes}:
        left = [box for box in boxes if box.right <= x]
        right = [box for box in boxes if box.left >= x]
        n_across = len(boxes) - len(left) - len(right)
        if n_across * 4 <= min(len(left), len(right)) and _is_prose(left) and _is_prose(right):
            found.append((n_across, x))
    return min(found)[1] if found else None


def _is_prose(boxes: Sequence[_Box]) -> bool:
    if len(boxes) < LEAST_COLUMN_LINES:
        return False
    return median(len(box.line.text) for box in boxes) >= LEAST_COLUMN_CHARS
