"""E-mail addresses and telephone numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .verdict import Unsettled, ambiguous
from .words import plain

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@(?:[\w](?:[\w-]*[\w])?\.)+[^\W\d_]{2,}")
_BRACKETED = re.compile(r'(?:"?[^"<>]*"?\s*)?<([^<>]+)>')
_DATE = re.compile(
    r"(?:0?[1-9]|[12]\d|3[01])([./-])(?:0?[1-9]|[12]\d|3[01])\1(?:19|20)\d\d"
    r"|(?:19|20)\d\d([./-])(?:0?[1-9]|1[0-2])\2(?:0?[1-9]|[12]\d|3[01])"
)
_HIDDEN = (
    (re.compile(r"\s*[\[({]\s*at\s*[\])}]\s*", re.IGNORECASE), "@"),
    (re.compile(r"\s*[\[({]\s*dot\s*[\])}]\s*", re.IGNORECASE), "."),
)


def clean_email(raw: str) -> str:
    """The address alone, its domain in small letters; in a longer text the only one in it.

    Raises `Unsettled`.
    """
    text = plain(raw)
    if found := _BRACKETED.fullmatch(text):
        text = found[1]
    text = re.sub(r"^mailto:", "", text, flags=re.I).strip(" ;,")
    for pattern, mark in _HIDDEN:
        text = pattern.sub(mark, text)
    found_in = {_written(one.group().rstrip(".")) for one in _ADDRESS.finditer(text)}
    if len(found_in) > 1:
        raise ambiguous(*sorted(found_in))
    address = found_in.pop() if found_in else ""
    local = address.partition("@")[0]
    # Held against the form again: a capital that has no small letter of its own spoils it.
    if not _ADDRESS.fullmatch(address) or ".." in local or local[0] == "." or local[-1] == ".":
        raise Unsettled("not an e-mail address")
    return address


def _written(address: str) -> str:
    local, _, domain = address.rpartition("@")
    return f"{local}@{domain.lower()}"


def phone_countries() -> frozenset[str]:
    """The two-letter codes of the countries whose telephone numbers are known."""
    import phonenumbers

    return frozenset(phonenumbers.SUPPORTED_REGIONS)


def clean_phone(raw: str, country: str) -> str:
    """The number as E.164 writes it (`+493012345678`); in a longer text the only one in it.

    `country` is where a number without a country code belongs. Raises `Unsettled`.
    """
    import phonenumbers

    text = plain(raw)
    text = re.sub(r"^(?:tel|phone|fon|mobile|电话|手机)\s*[.:]?\s*", "", text, flags=re.I)
    if text.startswith("00"):
        text = "+" + text[2:]
    if re.search(r"(?!ext)[^\W\d_]{3,}", text, re.IGNORECASE):
        return _phone_in(text, country)
    try:
        number = phonenumbers.parse(text, country or None)
    except phonenumbers.NumberParseException as error:
        if error.error_type == phonenumbers.NumberParseException.INVALID_COUNTRY_CODE and not (
            country or text.startswith("+")
        ):
            raise Unsettled("no country code", ask=False) from error
        raise Unsettled("not a telephone number") from error
    if not phonenumbers.is_valid_number(number):
        raise Unsettled("no valid telephone number", ask=False)
    if number.extension:
        raise Unsettled("a telephone number with an extension", ask=False)
    return _e164(number)


def _phone_in(text: str, country: str) -> str:
    """The one valid number that stands in a text. Raises `Unsettled`."""
    import phonenumbers

    matches = [
        match
        for match in phonenumbers.PhoneNumberMatcher(text, country or None)
        if not _DATE.fullmatch(match.raw_string)
    ]
    if any(match.number.extension for match in matches):
        raise Unsettled("a telephone number with an extension", ask=False)
    found = {_e164(match.number) for match in matches}
    if len(found) > 1:
        raise ambiguous(*sorted(found))
    if not found:
        raise Unsettled("not a telephone number")
    return found.pop()


def _e164(number: PhoneNumber) -> str:
    import phonenumbers

    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
