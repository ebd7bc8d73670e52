"""One value, one field: what the field's rule makes of it."""

from __future__ import annotations

from vedette.types import Json

from .contacts import clean_email, clean_phone
from .dates import clean_date, clean_datetime
from .fields import Field
from .money import clean_money
from .names import clean_name
from .numbers import clean_number
from .plain_rules import clean_boolean, clean_choice, clean_country, clean_text, is_missing
from .quantities import clean_quantity
from .verdict import Unsettled, ambiguous

MOST_CHARS = 500
"""A longer value is no date or number; only texts and choices are read whatever their length."""


def settle(raw: Json, field: Field) -> Json:
    """The value in its form; None where the source says that there is none.

    Raises `Unsettled`, also for a value that the field's schema refuses.
    """
    try:
        value = _by_kind(raw, field)
    except Unsettled as why:
        if why.candidates or not is_missing(raw):
            raise
        value = None
    if value is None:
        if field.required:
            raise Unsettled("missing", ask=False)
        return None
    fault = field.fault(value)
    if fault is not None:
        raise Unsettled(f"does not fit the schema: {fault}")
    return value


def _by_kind(raw: Json, field: Field) -> Json:
    options = field.options
    if raw is None:
        return None
    if field.kind == "choice":
        return clean_choice(raw, field.choices, field.synonyms)
    if field.kind == "boolean":
        return clean_boolean(raw)
    if field.kind == "number":
        if isinstance(raw, str) and len(raw) > MOST_CHARS:
            raise Unsettled(f"longer than {MOST_CHARS:,} characters")
        return clean_number(raw, options.decimal, whole=field.is_whole)
    if isinstance(raw, bool | list | dict):
        raise Unsettled("not a text", ask=False)
    text = str(raw)
    if len(text) > MOST_CHARS and field.kind != "text":
        raise Unsettled(f"longer than {MOST_CHARS:,} characters")
    if is_missing(text):
        if field.kind == "country" and text.strip() == "NA":
            raise ambiguous("NA", None)  # Namibia, or not available
        return None
    match field.kind:
        case "date":
            return clean_date(text, options.calendar)
        case "datetime":
            return clean_datetime(text, options.calendar, assume=field.assumes)
        case "money":
            return clean_money(text, options.decimal, options.currency, assume=field.assumes)
        case "quantity":
            return clean_quantity(text, options.decimal, options.unit)
        case "name":
            return _said(clean_name(text))
        case "email":
            return clean_email(text)
        case "phone":
            return clean_phone(text, options.country)
        case "country":
            return clean_country(text)
        case _:
            return _said(clean_text(text))


def _said(text: str) -> Json:
    """The text, unless what is left of it says that there is none."""
    return None if is_missing(text) else text
