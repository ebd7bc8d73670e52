"""Telephone numbers. Google's metadata decides; our own patterns choose what it is asked about.

A number without country code, separators or a word before it is nearly always something else
(an order, a counter, a time), so it counts only where its form is a mobile number's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from vedette.errors import InputError
from vedette.redaction.context import REACH, in_uuid, is_named, words
from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

DEFAULT_REGIONS = ("US", "GB", "DE", "CN")

_NAMES = words(
    "tel", "tele?f[oó][a-z]*", "telephone[a-z]*", "phone[a-z]*", "mobile?", "mobil[a-z]*", "cell",
    "call(?:ed|ing)?", "fax[a-z]*", "contact", "whatsapp", "sms", "dial", "hotline", "handy[a-z]*",
    "ring", "reach", "desk", "answer(?:ing|ed)?",
    "电话", "手机", "联系", "致电", "拨打", "传真", "热线", "座机", "来电", "電話",
)  # fmt: skip
# Right before a number these say that it is another one.
_OTHER_NUMBER = re.compile(
    r"(?:(?<![a-z])(?:order|invoice|tracking|ref|reference|ticket|serial|version|parcel|case|po)"
    r"|订单|单号|运单|流水|编号|序列|快递)"
    r"[ ]?(?:号码?|编号|no\.?|nr\.?|number|id|code)?[ ]{0,2}[:=#是为-]?[ ]{0,2}\Z"
)
_NAME_AFTER = re.compile(
    r"[ \t]?[-(,]?[ \t]?(?:office|fax|mobile|home|cell|work|phone|tel)(?![a-z])"
)
_EXTENSION = re.compile(r" ?(?:,? ?ext\.? ?|x|转|分机[:]? ?)[0-9]{1,6}(?![A-Za-z0-9])")
_BEFORE = re.compile(r"(?:[A-Za-z0-9_]|[0-9][-./])\Z")
_AFTER = re.compile(r"[A-Za-z0-9_]|[-./:][0-9]")
# A piece of an account number or another code, in front of digits that are the rest of it.
_CODE_BEFORE = re.compile(r"(?:[A-Z]{2}[0-9]{2}|[A-Z0-9]{4})[ -]\Z")
_GROUP = re.compile(r"[0-9]+")
_MOBILE_CN = re.compile(r"(?:(?:\+|00)?86[ -]?)?1[3-9][0-9](?:[ -]?[0-9]{4}){2}")
_NORTH_AMERICA = re.compile(
    r"(?:\+?1[ .-]?)?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"
)
_INTERNATIONAL = re.compile(r"\+|00[1-9]|001[ -]")
_MAX_DIGITS = 15
_MOST_NAMED_DIGITS = 12  # more of them after a word such as "phone" are two numbers


@dataclass(frozen=True)
class Phone:
    """Implements `Detector`. `regions` are ISO country codes whose national forms count.

    Numbers with a country code are found wherever they are from. Raises `InputError` for a region
    that does not exist.
    """

    regions: tuple[str, ...] = DEFAULT_REGIONS

    def __post_init__(self) -> None:
        if self.regions == DEFAULT_REGIONS:
            return
        import phonenumbers

        for region in self.regions:
            if region not in phonenumbers.SUPPORTED_REGIONS:
                raise InputError(
                    f"there is no telephone region {region!r}",
                    hint="give ISO country codes such as US, DE, CN",
                )

    @property
    def kinds(self) -> frozenset[str]:
        """See `Detector`."""
        return frozenset({"phone"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for start, end in scan.runs:
            yield from self._in_run(scan, start, end)

    def _in_run(self, scan: Scan, start: int, end: int) -> Iterator[Span]:
        """The numbers of a stretch of digits, which may be several with spaces between."""
        text = scan.folded
        at, is_free = start, not _CODE_BEFORE.search(text, max(0, start - 5), start)
        while at < end:
            if span := self._at(scan, at, end, is_free=is_free):
                yield span
                at, is_free = span.end, True
            else:
                group = _GROUP.search(text, at, end)
                at = group.end() if group else end
                is_free = False
            while at < end and text[at] not in "+(0123456789":
                at += 1

    def _at(self, scan: Scan, start: int, end: int, *, is_free: bool) -> Span | None:
        """The number that begins here. `is_free`: no other digits stand right before it."""
        text = scan.folded
        if _BEFORE.search(text, max(0, start - 2), start):
            return None
        while text[start] == "(" and text.count("(", start, end) > text.count(")", start, end):
            start += 1
        for found, score in self._candidates(scan, start, end, is_free=is_free):
            extension = _EXTENSION.match(text, found)
            last = extension.end() if extension else found
            if _AFTER.match(text, last) or in_uuid(scan, start, last):
                continue
            return Span(start, last, "phone", "phone", score, self._canonical(text[start:found]))
        return None

    def _candidates(
        self, scan: Scan, start: int, end: int, *, is_free: bool
    ) -> Iterator[tuple[int, float]]:
        """Ends of numbers that begin here, the surest first, with their score."""
        text = scan.folded
        is_other = _OTHER_NUMBER.search(scan.lowered, max(0, start - REACH), start) is not None
        chinese = _MOBILE_CN.match(text, start) if "CN" in self.regions else None
        if chinese and not is_other:
            yield chinese.end(), 0.9
        ends = list(_ends(text, start, end))
        if _INTERNATIONAL.match(text, start):
            for last in ends:
                if _known(text[start:last], ()) is not None:
                    yield last, 0.95
            if text[start] == "+":  # not given out yet, or no longer: a number all the same
                yield from ((last, 0.7) for last in ends if _digits(text[start:last]) >= 9)
        named = is_named(scan, start, _NAMES) or _names_after(scan, end)
        if not named and (not is_free or is_other):
            return
        american = _NORTH_AMERICA.match(text, start) if "US" in self.regions else None
        if american and _known(american[0], ("US",)):
            yield american.end(), 0.85
        if named and ends and _digits(text[start : ends[0]]) <= _MOST_NAMED_DIGITS:
            yield ends[0], 0.7
        for last in ends:
            value = text[start:last]
            if (named or _looks_national(value)) and _known(value, self.regions) is not None:
                yield last, 0.8

    def _canonical(self, value: str) -> str:
        return _known(value, self.regions) or "".join(filter(str.isdigit, value))


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where a number that begins here may end, the longest first: after each group of digits."""
    digits, found = 0, []
    for group in _GROUP.finditer(text, start, end):
        digits += group.end() - group.start()
        if digits > _MAX_DIGITS:
            break
        found.append(group.end())
    return reversed(found)


def _digits(value: str) -> int:
    return sum(map(str.isdigit, value))


def _names_after(scan: Scan, end: int) -> bool:
    return _NAME_AFTER.match(scan.lowered, end) is not None


def _looks_national(value: str) -> bool:
    """A trunk 0 and a separator, or a bare mobile number: see `_known` for the rest."""
    if value.startswith("(0") or (value[0] == "0" and not value.isdigit()):
        return True
    return value[0] == "0" and len(value) in (10, 11, 12) and value[1] in "167"


@lru_cache(maxsize=4096)
def _known(value: str, regions: tuple[str, ...]) -> str | None:
    """The number as +491701234567 if it is one of these regions', or has a country code."""
    import phonenumbers

    international = value.startswith(("+", "00"))
    if international and value.startswith("00"):
        value = "+" + value[2:]
    for region in (None,) if international else regions:
        try:
            number = phonenumbers.parse(value, region)
        except phonenumbers.NumberParseException:
            continue
        if not phonenumbers.is_valid_number(number):
            continue
        is_bare = value.isdigit() and value[0] == "0"
        mobile = (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.PAGER)
        if is_bare and phonenumbers.number_type(number) not in mobile:
            continue
        return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
    return None
