"""The refusal of a schema, with what is known about its keywords."""

from __future__ import annotations

from vedette.errors import SchemaError
from vedette.schema_report import KeywordReport, SchemaReport


class SchemaRefused(SchemaError):
    """A schema that cannot be used; `report` holds what is known about its keywords."""

    def __init__(self, message: str, report: SchemaReport, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.report = report


def refused(
    reason: str,
    *,
    pointer: str = "",
    keyword: str = "",
    hint: str | None = None,
    report: SchemaReport | None = None,
) -> SchemaRefused:
    """The refusal of a schema for one reason, which the report holds too."""
    known = report or SchemaReport("", ())
    entry = KeywordReport(pointer, keyword, "refused", reason)
    others = tuple(
        other for other in known.keywords if (other.pointer, other.keyword) != (pointer, keyword)
    )
    full = SchemaReport(known.draft, (entry, *others), known.unknown)
    where = f"at {pointer or 'the root'}: " + (f"{keyword}: " if keyword else "")
    return SchemaRefused(where + reason, full, hint=hint)
