"""Chinese numerals, alone and mixed with digits: 一千二百, 〇, 贰拾, 1.2万, 三点五."""

from __future__ import annotations

import re
from decimal import Decimal

DIGITS = {
    **dict(zip("零一二三四五六七八九", range(10), strict=True)),
    **dict(zip("壹贰叁肆伍陆柒捌玖", range(1, 10), strict=True)),
    **dict(zip("壹貳參肆伍陸柒捌玖", range(1, 10), strict=True)),
    "〇": 0,
    "两": 2,
    "兩": 2,
    "○": 0,
}
SMALL = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_CHARS = "".join([*DIGITS, *SMALL, *LARGE])
_TOKEN = re.compile(rf"\d+(?:\.\d+)?|[{_CHARS}]")
# Digits are taken whole (++): a run of them split in every way would take for ever.
NUMERAL = re.compile(rf"(?:\d++(?:\.\d++)?|[{_CHARS}])+(?:[点點][{''.join(DIGITS)}]+)?")


def chinese_number(text: str) -> Decimal | None:
    """The value of a numeral; None for a text that is none, or that has no Chinese part."""
    if not NUMERAL.fullmatch(text) or text.isascii():
        return None
    whole, _, fraction = text.replace("點", "点").partition("点")
    value = _whole(whole)
    if value is None or not fraction:
        return value
    digits = "".join(str(DIGITS[char]) for char in fraction)
    return value + Decimal(f"0.{digits}")


def _whole(text: str) -> Decimal | None:
    tokens = _TOKEN.findall(text)
    if all(token in DIGITS for token in tokens):  # read digit by digit, as years are
        return Decimal("".join(str(DIGITS[token]) for token in tokens))
    total = section = Decimal(0)
    pending: Decimal | None = None
    unit = 0  # of the last unit word: 一万五 is 15,000, 一万零五 is 10,005
    for token in tokens:
        if token in DIGITS or token[0].isdigit():
            if pending:
                return None
            pending = Decimal(DIGITS[token]) if token in DIGITS else Decimal(token)
            unit = 0 if pending == 0 else unit
        elif token in SMALL:
            section += (Decimal(1) if pending is None else pending) * SMALL[token]
            pending, unit = None, SMALL[token]
        else:
            part = section + (pending or 0)
            if part == 0 and total == 0:
                return None
            total = (
                (total + part) * LARGE[token]
                if LARGE[token] > total > 0
                else (total + part * LARGE[token])
            )
            section, pending, unit = Decimal(0), None, LARGE[token]
    if pending is not None and pending < 10 < unit:
        pending *= unit // 10
    return total + section + (pending or 0)
