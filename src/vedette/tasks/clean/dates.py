"""Dates and times as people write them, to ISO 8601."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Literal

from .chinese import NUMERAL, chinese_number
from .verdict import Unsettled, ambiguous
from .words import key, month_names, plain, weekday_names, word_lists

Order = Literal["", "dmy", "mdy", "ymd"]

_YEAR_FIRST = re.compile(r"(\d{4})\s*[-/. ]\s*(\d{1,2})\s*[-/. ]\s*(\d{1,2})\.?")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_THREE = re.compile(r"(\d{1,2})\s*[-/. ]\s*(\d{1,2})\s*[-/. ]\s*(\d{4}|\d{2})\.?")
_CHINESE = re.compile(
    rf"({NUMERAL.pattern})\s*年\s*({NUMERAL.pattern})\s*月\s*({NUMERAL.pattern})\s*[日号號]?"
)
_WORD = re.compile(r"\d+|[^\W\d_]+(?:\.(?=\s|$))?|'\d\d")
_TIME = re.compile(
    r"(?P<date>.+?)(?:[T ,]+|(?<=[日号號]))(?:at |um )?(?P<half>上午|下午|晚上)?\s*"
    r"(?P<hour>\d{1,2})(?:[:点時时h](?P<minute>\d{2})?分?)(?::?(?P<second>\d{2})(?:[.,]\d+)?秒?)?"
    r"\s*(?P<noon>[ap]\.?m\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Calendar:
    """How dates are to be read that do not say it themselves.

    `order` of day, month and year where all are numbers; without it a date with two readings is
    ambiguous. Two-digit years up to `pivot` are 20xx, those after it 19xx; without it they are
    ambiguous. `zone` is that of times without one (`Z` or `+01:00`).
    """

    order: Order = ""
    pivot: int | None = None
    zone: str = ""


def clean_date(raw: str, calendar: Calendar) -> str:
    """`YYYY-MM-DD`; a time that stands behind the date is left out. Raises `Unsettled`."""
    text = plain(raw)
    try:
        return _date(text, calendar)
    except Unsettled as why:
        found = _TIME.fullmatch(text)
        if found is None or not why.ask:
            raise
        return _date(found["date"].strip(" ,"), calendar)


def clean_datetime(raw: str, calendar: Calendar, *, assume: bool = True) -> str:
    """`YYYY-MM-DDTHH:MM:SS` with its zone.

    Where none is written it is the calendar's, if `assume` says so. Raises `Unsettled`.
    """
    found = _TIME.fullmatch(plain(raw))
    if found is None:
        raise Unsettled("not a date with a time")
    day = date.fromisoformat(_date(found["date"].strip(" ,"), calendar))
    hour = int(found["hour"])
    half = (found["noon"] or "").casefold()[:1]
    if half and not 1 <= hour <= 12:
        raise Unsettled("not a time")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    elif found["half"] in ("下午", "晚上") and hour < 12:
        hour += 12
    zone = found["zone"] or (calendar.zone if assume else "")
    if not zone:
        raise Unsettled("no time zone", ask=False)
    try:
        clock = time(hour, int(found["minute"] or 0), int(found["second"] or 0))
    except ValueError as error:
        raise Unsettled("not a time") from error
    written = datetime.combine(day, clock, zone_of(zone)).isoformat()
    return written.removesuffix("+00:00") + "Z" if written.endswith("+00:00") else written


def zone_of(text: str) -> timezone:
    """The zone that `Z`, `UTC`, `GMT` or an offset such as `+01:00` names. Raises ValueError."""
    if text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    found = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", text)
    if found is None:
        raise ValueError(f"{text!r} is no time zone")
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(-offset if found[1] == "-" else offset)


def _date(text: str, calendar: Calendar) -> str:
    if found := _YEAR_FIRST.fullmatch(text) or _COMPACT.fullmatch(text):
        return _written(*map(int, found.groups()))
    if found := _THREE.fullmatch(text):
        return _of_three(found.groups(), calendar)
    if found := _CHINESE.fullmatch(text):
        return _of_chinese(found.groups(), calendar)
    return _of_words(text, calendar)


def _written(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except (ValueError, OverflowError) as error:
        raise Unsettled(f"no such day: {error}", ask=False) from error


def _of_three(parts: tuple[str, ...], calendar: Calendar) -> str:
    """Three numbers, none of them a year of four digits in front."""
    orders = [calendar.order] if calendar.order else ["dmy", "mdy"]
    if not calendar.order and len(parts[0]) == len(parts[2]) == 2:
        orders.append("ymd")
    readings = set()
    for order in orders:
        where = {letter: parts[order.index(letter)] for letter in "ymd"}
        if len(parts[2]) == 4 and order == "ymd":
            raise Unsettled("the year stands last, not first", ask=False)
        for year in _years(where["y"], calendar):
            try:
                readings.add(date(year, int(where["m"]), int(where["d"])).isoformat())
            except ValueError:
                continue
    return _only(readings)


def _only(readings: set[str]) -> str:
    if not readings:
        raise Unsettled("no such day", ask=False)
    if len(readings) > 1:
        raise ambiguous(*sorted(readings))
    return readings.pop()


def _years(text: str, calendar: Calendar) -> list[int]:
    """The years that the digits may mean."""
    if len(text) != 2:
        return [int(text)]
    short = int(text)
    if calendar.pivot is None:
        return [1900 + short, 2000 + short]
    return [2000 + short if short <= calendar.pivot else 1900 + short]


def _of_chinese(parts: tuple[str, ...], calendar: Calendar) -> str:
    numbers = []
    for part in parts:
        value = int(part) if part.isascii() and part.isdigit() else chinese_number(part)
        if value is None or value != int(value):
            raise Unsettled("not a date")
        numbers.append(int(value))
    year, month, day = numbers
    years = _years(f"{year:02d}", calendar) if year < 100 else [year]
    return _only({_written(one, month, day) for one in years})


def _of_words(text: str, calendar: Calendar) -> str:
    """A month by its name, with a day and a year."""
    lists = word_lists()["dates"]
    idle = {*lists["fillers"], *weekday_names()}
    months: list[int] = []
    numbers: list[str] = []
    behind_number = False
    for word in _WORD.findall(text):
        name = key(word)
        if word[0].isdigit() or word[0] == "'":
            numbers.append(word.lstrip("'"))
        elif name in month_names() and not (behind_number and name in lists["ordinals"]):
            months.append(month_names()[name])
        elif not (name in idle or (behind_number and name in lists["ordinals"])):
            raise Unsettled("not a date")
        behind_number = word[0].isdigit()
    if len(months) != 1 or len(numbers) != 2:
        raise Unsettled("not a date")
    first, second = numbers
    if len(first) == 4:
        first, second = second, first
    if len(first) > 2 or len(second) not in (2, 4):
        raise Unsettled("not a date")
    return _only({_written(year, months[0], int(first)) for year in _years(second, calendar)})
