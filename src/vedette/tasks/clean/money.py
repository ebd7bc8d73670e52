"""Amounts of money: a number and the code of its currency (ISO 4217)."""

from __future__ import annotations

from functools import cache

from vedette.types import Json

from .numbers import json_number, number_of
from .verdict import Unsettled, ambiguous
from .words import currency_names, plain


def clean_money(raw: str, decimal: str, currency: str, *, assume: bool = True) -> Json:
    """`{"amount": 12.5, "currency": "EUR"}`.

    `currency` is meant by a symbol that may mean it (`$`), and with `assume` where none is written.
    Raises `Unsettled`.
    """
    text = plain(raw)
    sign = text[:1] if text[:1] in ("-", "−") else ""
    before, text = _taken(text[len(sign) :].strip(), at_start=True)
    after, text = _taken(text, at_start=False)
    number = number_of(sign + text, decimal)
    if not (before or after or assume):
        raise Unsettled("no currency", ask=False)
    code = _code(before, after, currency)
    return {"amount": json_number(number), "currency": code}


def _code(before: tuple[str, ...], after: tuple[str, ...], currency: str) -> str:
    """The one currency that is meant. Raises `Unsettled`."""
    named = set(before or after) & set(after or before)
    if not named:
        if before and after:
            raise Unsettled("two currencies", ask=False)
        if not currency:
            raise Unsettled("no currency", ask=False)
        return currency
    if currency in named:
        return currency
    if len(named) > 1:
        raise ambiguous(*sorted(named))
    return named.pop()


def _taken(text: str, *, at_start: bool) -> tuple[tuple[str, ...], str]:
    """The currency that stands at one end, as codes that it may mean, and the rest."""
    names = currency_names()
    lowered = text.casefold()
    if len(lowered) != len(text):
        lowered = text.lower()
    for length in range(min(len(text) - 1, _longest()), 0, -1):
        part = lowered[:length] if at_start else lowered[-length:]
        codes = names.get(part.strip(" ."))
        rest = text[length:] if at_start else text[:-length]
        touching = rest[:1] if at_start else rest[-1:]
        edge = part[-1] if at_start else part[0]
        is_cut = edge.isascii() and edge.isalpha() and touching.isalpha() and touching.isascii()
        if codes and not is_cut:
            return codes, rest.strip()
    return (), text


@cache
def _longest() -> int:
    return max(map(len, currency_names())) + 2
