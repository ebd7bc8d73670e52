"""Numbers of the People's Republic of China: resident identity, and unified social credit code."""

from __future__ import annotations

import re

from stdnum.cn import ric, uscc
from stdnum.exceptions import ValidationError

from .numbers import GAP, NumberRule


def _is_resident_id(value: str) -> bool:
    """MOD 11-2 check digit, a date of birth that was, and a province that there is (GB 11643).

    The county need not have existed at birth: numbers are given later, and counties are renamed.
    """
    if value[6:8] not in ("18", "19", "20") or ric.calc_check_digit(value) != value[-1]:
        return False
    try:
        ric.get_birth_date(value)
    except ValidationError:
        return False
    return _PROVINCES.match(value) is not None


def _is_credit_code(value: str) -> bool:
    """Check character of GB 32100. Digits only must begin as a code does and be no birth date.

    One check in 31 would otherwise take a resident id with a wrong check digit for a code.
    """
    if value.isdigit() and (not _DIGITS_ONLY.match(value) or _BIRTH.match(value, 6)):
        return False
    return bool(uscc.is_valid(value))


# GB/T 2260, with Taiwan, Hong Kong and Macao (71, 81, 82) and residence permits for them (83).
_PROVINCES = re.compile("1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")
_C = "[0-9A-HJ-NPQRTUWXY]"
_DIGITS_ONLY = re.compile("[159][1239]")
_BIRTH = re.compile("(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_FOURS = rf"[0-9]{{4}}{GAP}[0-9]{{4}}(?:{GAP}{_C}{{4}}){{2}}{GAP}{_C}{{2}}"
_PARTS = rf"[0-9]{GAP}[0-9]{GAP}[0-9]{{6}}{GAP}{_C}{{9}}{GAP}{_C}"

CN_NUMBERS = (
    NumberRule(
        "cn_id", "cn-resident-id", 17, rf"[1-9](?:{GAP}[0-9]){{16}}{GAP}[0-9Xx]", _is_resident_id
    ),
    NumberRule("cn_uscc", "cn-social-credit-code", 8, f"{_FOURS}|{_PARTS}", _is_credit_code, 0.95),
)
