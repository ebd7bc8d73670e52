"""Payment cards: length and first digits of a known brand, and the Luhn check digit (ISO 7812)."""

from __future__ import annotations

import re

from stdnum import luhn

from vedette.redaction.context import words

from .numbers import GAP, NumberRule

_GROUPED = rf"[0-9]{{4}}({GAP})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{1,4}}(?:\1[0-9]{{1,3}})?"
_FOUR_SIX = rf"[0-9]{{4}}{GAP}[0-9]{{6}}{GAP}[0-9]{{4,5}}"
_NAMES = words(
    "cards?", "visa", "mastercard", "maestro", "amex", "credit", "debit", "pan", "[a-z]*karte",
    "卡号", "银行卡", "信用卡", "借记卡", "储蓄卡", "账号", "帐号",
)  # fmt: skip

# (first digits, lengths) of the brands that issue cards today, and of the old JCB cards.
_BRANDS = (
    (re.compile("4"), (13, 16, 19)),  # Visa
    (re.compile("5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)"), (16,)),  # Mastercard
    (re.compile("3[47]"), (15,)),  # American Express
    (re.compile("3(?:0[0-5]|[689])"), (14, 16, 19)),  # Diners
    (re.compile("6(?:011|4[4-9]|5)"), (16, 19)),  # Discover
    (re.compile("35(?:2[89]|[3-8])"), (16, 17, 18, 19)),  # JCB
    (re.compile("2131|1800"), (15,)),  # JCB, old
    (re.compile("62|81"), (16, 17, 18, 19)),  # UnionPay
    (re.compile("220[0-4]"), (16, 17, 18, 19)),  # Mir
    (re.compile("5018|5020|5038|5[68]|6304|6759|676[1-3]"), (12, 13, 14, 15, 16, 17, 18, 19)),
)


def _is_card(value: str) -> bool:
    known = any(len(value) in sizes and begin.match(value) for begin, sizes in _BRANDS)
    return known and luhn.is_valid(value)


def _is_named_card(value: str) -> bool:
    return 12 <= len(value) <= 19 and len(set(value)) > 1 and luhn.is_valid(value)


CARDS = (
    NumberRule("card", "card-brand", 12, f"{_GROUPED}|{_FOUR_SIX}|[0-9]{{12,19}}", _is_card, 0.95),
    NumberRule(
        "card", "card-named", 12, f"{_GROUPED}|[0-9]{{12,19}}", _is_named_card, 0.9, names=_NAMES
    ),
)
