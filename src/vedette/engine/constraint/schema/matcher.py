"""A schema as a question that needs no model: is this an answer that could be given?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from vedette.schema_report import SchemaReport
from vedette.types import Json

from .analyse import Analysis, analyse


class SchemaMatcher:
    """Says of values and of texts whether constrained decoding under a schema would give them.

    Arguments and errors are those of `analyse`.
    """

    def __init__(
        self,
        schema: Json,
        *,
        files: Mapping[str, Json] | None = None,
        strict: bool = False,
        formats: bool = True,
    ) -> None:
        self.analysis: Analysis = analyse(schema, files=files, strict=strict, formats=formats)

    @property
    def report(self) -> SchemaReport:
        """What became of each keyword."""
        return self.analysis.report

    def accepts(self, value: Json) -> bool:
        """Whether the value is an answer, spelled and ordered as the grammar has it."""
        return self.analysis.accepts(value)

    def accepts_text(self, text: str | bytes) -> bool:
        """Whether exactly this JSON text is an answer. One with a name twice in an object is not.

        Text that is not JSON is no answer.
        """
        try:
            written = text.decode() if isinstance(text, bytes) else text
            value = value_of(written)
        except (ValueError, RecursionError):
            return False
        return self.analysis.is_valid(value) and self.analysis.grammar.accepts(written)


def value_of(text: str) -> Json:
    """Read JSON. Raises `ValueError` for text that is not, NaN and a name twice included."""
    value: Json = json.loads(
        text, object_pairs_hook=_once, parse_constant=_refused, parse_float=_finite
    )
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return out


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is beyond what a double can hold")
    return number


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
