"""Two result files of one job, line against line: what differs, and is it rounding?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

import orjson
from common import event_task, gap_text, nearest_gap, watch
from rounding import gap_noise

from vedette.backends.local import LocalBackend
from vedette.types import Item, Json, Request

ROUNDING = 0.005
"""Probabilities nearer than this are the same; they are written with four places."""

Line: TypeAlias = dict[str, Json]
Leaf: TypeAlias = tuple[str, Json, Json]
Kind: TypeAlias = Literal["rounding", "tie", "other"]


@dataclass(frozen=True, slots=True)
class LineDifference:
    """A row whose two lines differ. `kind` other means that nothing excuses it."""

    row: str
    kind: Kind
    what: str

    def as_text(self) -> str:
        """A line for people."""
        return f"  {self.kind} {self.row}: {self.what}"


def compare_files(
    one: Path, other: Path, rows: Path, model: str, task: str
) -> list[LineDifference]:
    """The rows that are in both files and differ, in order. Loads the model to explain them."""
    left, right = _lines(one), _lines(other)
    texts = {str(row["id"]): str(row["text"]) for row in _objects(rows)}
    found: list[LineDifference] = []
    with ExitStack() as stack:
        backend: LocalBackend | None = None
        for row, line in left.items():
            if row not in right or line == right[row]:
                continue
            kind, why = _kind_of_numbers(line, right[row])
            if kind == "other" and task == "extract" and line["ok"] and right[row]["ok"]:
                backend = backend or stack.enter_context(closing(LocalBackend(model)))
                kind, why = _kind_of_text(backend, texts[row], line, right[row])
            parts = [why] if why else []
            for path, a, b in _leaves(line, right[row]):
                parts.append(f"{path} {_short(a)} and {_short(b)}")
            found.append(LineDifference(row, kind, "; ".join(parts)))
    return found


def _kind_of_numbers(one: Line, other: Line) -> tuple[Kind, str]:
    """Rounding, when only fractions differ and hardly; a tie, when two labels were as likely."""
    leaves = list(_leaves(one, other))
    words = [leaf for leaf in leaves if not _is_near(leaf[1], leaf[2])]
    if not words:
        return "rounding", ""
    margins = [_margin(one), _margin(other)]
    if [path for path, _, _ in words] == ["value.label"] and all(m < ROUNDING for m in margins):
        return "tie", f"margins {margins[0]:.4f} and {margins[1]:.4f}"
    return "other", ""


def _margin(line: Line) -> float:
    value = line.get("value")
    margin = value.get("margin") if isinstance(value, dict) else None
    return margin if isinstance(margin, float) else 1.0


def _kind_of_text(backend: LocalBackend, text: str, one: Line, other: Line) -> tuple[Kind, str]:
    """Run the row token by token and see how sure the token was at which the answers part."""
    asks = next(event_task().steps(Item(id="0", text=text), backend))
    if len(asks) > 1:
        return "other", "answered in several windows, which is not looked into"
    request = cast(Request, asks[0])
    run = watch(backend, [request])[0]
    answers = [orjson.dumps(line["value"]) for line in (one, other)]
    gap = max(nearest_gap(run, answer) for answer in answers if answer != run.text)
    noise = gap_noise(backend, request, [step.token_id for step in run.steps])
    return ("tie" if gap <= noise else "other"), f"{gap_text(gap)}, noise {noise:.4f}"


def _is_near(one: Json, other: Json) -> bool:
    both_are_floats = isinstance(one, float) and isinstance(other, float)
    return both_are_floats and abs(cast(float, one) - cast(float, other)) < ROUNDING


def _leaves(one: Json, other: Json, path: str = "") -> Iterator[Leaf]:
    """The innermost values that differ, with their paths."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _leaves(one.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif one != other:
        yield path, one, other


def _short(value: Json) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."


def _lines(path: Path) -> dict[str, Line]:
    return {str(line["id"]): line for line in _objects(path)}


def _objects(path: Path) -> Iterator[Line]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)
