"""What digits and keys must be so before a rule counts: check sums, chance-like letters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

LEAST_ENTROPY = 3.2  # bits for each character: words and repeated letters are under it

_CN_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CN_MARKS = "10x98765432"


def luhn(text: str) -> bool:
    """Whether the digits pass the check of payment cards (ISO/IEC 7812)."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def cn_id(text: str) -> bool:
    """Whether 18 characters are a resident's number of China (GB 11643, ISO 7064 MOD 11-2)."""
    code = "".join(char for char in text.lower() if char.isdigit() or char == "x")
    if not re.fullmatch(r"\d{17}[\dx]", code):
        return False
    total = sum(int(digit) * weight for digit, weight in zip(code, _CN_WEIGHTS, strict=False))
    return code[-1] == _CN_MARKS[total % 11]


def iban(text: str) -> bool:
    """Whether it is an account number (ISO 13616): the remainder of 97 is 1."""
    code = "".join(text.upper().split())
    turned = code[4:] + code[:4]
    if not re.fullmatch("[0-9A-Z]+", turned):
        return False
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1


def entropy(text: str) -> bool:
    """Whether the characters are as mixed as those of a key that was made by chance."""
    counts = Counter(text)
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    has_both = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    return has_both and bits >= LEAST_ENTROPY


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "luhn": luhn,
    "cn-id": cn_id,
    "iban": iban,
    "entropy": entropy,
}
