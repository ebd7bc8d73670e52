"""Numbers as people write them: 1.234,56 and 1,234.56, (12), 3 million, 1.2万."""

from __future__ import annotations

import re
from decimal import Decimal

from vedette.types import Json

from .chinese import chinese_number
from .verdict import Unsettled, ambiguous
from .words import plain, word_lists

_DIGITS_HELD = 15  # what a float keeps of a decimal number
_GROUPED_BY_SPACE = re.compile(r"\d{1,3}(?:[ '’_]\d{3})+(?=[.,]\d+$|$)")
_SCALED = re.compile(r"(.*\d)\s*([^\W\d_]+)\.?")
_SCIENTIFIC = re.compile(r"\d+(?:\.\d+)?[eE][+-]?\d{1,3}")


def number_of(text: str, decimal: str = "") -> Decimal:
    """The number that a text is.

    `decimal` is the decimal mark, `.` or `,`; where it is not said, `1.234` is ambiguous. Raises
    `Unsettled`.
    """
    text = plain(text)
    negative, text = _sign(text)
    if text.endswith(("%", "‰")) or text.startswith("百分之"):
        raise Unsettled("a percentage, not a number", ask=False)
    if not negative:
        return _unsigned(text, decimal)
    try:
        return -_unsigned(text, decimal)
    except Unsettled as why:
        raise why.mapped(lambda value: json_number(-value)) from None


def json_number(value: Decimal) -> int | float:
    """A number of JSON. Raises `Unsettled` for one with more digits than a float holds."""
    if not value.is_finite():
        raise Unsettled("not a number", ask=False)
    if value == value.to_integral_value():
        return int(value)
    if len(value.normalize().as_tuple().digits) > _DIGITS_HELD:
        raise Unsettled(f"more digits than a JSON number holds: {value}", ask=False)
    number = float(value)
    if number == 0:
        raise Unsettled(f"too small for a JSON number: {value}", ask=False)
    return number


def _sign(text: str) -> tuple[bool, str]:
    if text.startswith("(") and text.endswith(")"):
        return True, text[1:-1].strip()
    for mark in ("-", "−", "–", "负", "負", "minus "):
        if text.startswith(mark):
            return True, text[len(mark) :].strip()
    return False, text.removeprefix("+").strip()


def _unsigned(text: str, decimal: str) -> Decimal:
    chinese = chinese_number(text)
    if chinese is not None:
        return chinese
    if _SCIENTIFIC.fullmatch(text):
        return Decimal(text)
    scaled = _SCALED.fullmatch(text)
    if scaled:
        scale: int | None = word_lists()["scales"].get(scaled.group(2).casefold())
        if scale is None:
            raise Unsettled("not a number")
        try:
            return _plain_number(scaled.group(1), decimal) * scale
        except Unsettled as why:
            raise why.mapped(lambda value: json_number(value * scale)) from None
    return _plain_number(text, decimal)


def _plain_number(text: str, decimal: str) -> Decimal:
    grouped = _GROUPED_BY_SPACE.match(text)
    if grouped:
        text = re.sub(r"[ '’_]", "", grouped.group()) + text[grouped.end() :]
        whole, mark, fraction = re.match(r"(\d+)([.,]?)(\d*)", text).groups()  # type: ignore[union-attr]
        return _joined(whole, mark, fraction, decimal)
    if not re.fullmatch(r"\d*(?:[.,]\d+)*", text) or not any(map(str.isdigit, text)):
        raise Unsettled("not a number")
    marks = [char for char in text if char in ".,"]
    if not marks:
        return Decimal(text)
    if len(set(marks)) == 2:
        return _with_both(text, marks, decimal)
    if len(marks) > 1:
        return _only_grouped(text, marks[0], decimal)
    whole, fraction = text.split(marks[0])
    if len(fraction) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0"):
        if not decimal:
            raise ambiguous(int(whole + fraction), float(f"{whole}.{fraction}"))
        if decimal != marks[0]:
            return Decimal(whole + fraction)
    return _joined(whole, marks[0], fraction, decimal)


def _with_both(text: str, marks: list[str], decimal: str) -> Decimal:
    if marks.count(marks[-1]) > 1:
        raise Unsettled("not a number")
    whole, fraction = text.rsplit(marks[-1], 1)
    return _joined(_ungrouped(whole, marks[0]), marks[-1], fraction, decimal)


def _only_grouped(text: str, mark: str, decimal: str) -> Decimal:
    if decimal == mark:
        raise Unsettled(f"more than one decimal mark {mark!r}", ask=False)
    return Decimal(_ungrouped(text, mark))


def _ungrouped(whole: str, mark: str) -> str:
    """Without grouping marks: groups of three, or as in India two and at last three."""
    groups = whole.split(mark)
    sizes = [len(group) for group in groups[1:]]
    in_threes = all(size == 3 for size in sizes)
    in_twos = sizes[-1:] == [3] and all(size == 2 for size in sizes[:-1])
    if not 1 <= len(groups[0]) <= 3 or not (in_threes or in_twos):
        raise Unsettled("not a number")
    return "".join(groups)


def _joined(whole: str, mark: str, fraction: str, decimal: str) -> Decimal:
    if mark and decimal and mark != decimal:
        raise Unsettled(f"its decimal mark is {mark!r}, not {decimal!r}", ask=False)
    return Decimal(f"{whole or '0'}.{fraction or '0'}")


def clean_number(raw: Json, decimal: str, *, whole: bool) -> Json:
    """A number of JSON from a number or a text. Raises `Unsettled`."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise Unsettled("not a number")
    value = Decimal(str(raw)) if not isinstance(raw, str) else number_of(raw, decimal)
    number = json_number(value)
    if whole and not isinstance(number, int):
        raise Unsettled(f"{number} is not a whole number", ask=False)
    return number
