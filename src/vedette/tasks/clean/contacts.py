"""E-mail addresses and telephone numbers."""

from __future__ import annotations

import re

from .verdict import Unsettled
from .words import plain

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@(?:[\w](?:[\w-]*[\w])?\.)+[^\W\d_]{2,}")
_BRACKETED = re.compile(r'(?:"?[^"<>]*"?\s*)?<([^<>]+)>')
_HIDDEN = (
    (re.compile(r"\s*[\[({]\s*at\s*[\])}]\s*", re.IGNORECASE), "@"),
    (re.compile(r"\s*[\[({]\s*dot\s*[\])}]\s*", re.IGNORECASE), "."),
)


def clean_email(raw: str) -> str:
    """The address alone, its domain in small letters. Raises `Unsettled`."""
    text = plain(raw)
    if found := _BRACKETED.fullmatch(text):
        text = found[1]
    text = re.sub(r"^mailto:", "", text, flags=re.I).strip(" ;,")
    for pattern, mark in _HIDDEN:
        text = pattern.sub(mark, text)
    if not _ADDRESS.fullmatch(text) or ".." in text or text[0] == ".":
        raise Unsettled("not an e-mail address")
    local, _, domain = text.rpartition("@")
    if local.endswith("."):
        raise Unsettled("not an e-mail address")
    return f"{local}@{domain.lower()}"


def clean_phone(raw: str, country: str) -> str:
    """The number as E.164 writes it (`+493012345678`).

    `country` is where a number without a country code belongs. Raises `Unsettled`.
    """
    import phonenumbers

    text = plain(raw)
    text = re.sub(r"^(?:tel|phone|fon|mobile|电话|手机)\s*[.:]?\s*", "", text, flags=re.I)
    if text.startswith("00"):
        text = "+" + text[2:]
    if re.search(r"(?!ext)[^\W\d_]{3,}", text, re.IGNORECASE):
        raise Unsettled("not a telephone number")
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
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
