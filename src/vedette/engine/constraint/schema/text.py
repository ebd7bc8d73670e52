"""Strings: length, patterns, format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import patterns, probe
from .facts import Fact

if TYPE_CHECKING:
    from .lower import Lowering

_MAX_EXCLUDED_CHARS = 2000


@dataclass(frozen=True, slots=True)
class TextShape:
    """All strings of a length that match some patterns and have a format."""

    least: int = 0
    most: int | None = None
    patterns: tuple[str, ...] = ()
    format: str | None = None

    @property
    def empty(self) -> bool:
        """No string is of this shape."""
        if self.most is not None and self.least > self.most:
            return True
        together = len(self.patterns) + (self.format is not None) + (self.most is not None)
        return together > 1 and "nsatisfiable" in probe.refusal(self.schema())

    def schema(self) -> dict[str, Any]:
        """The shape as a JSON Schema."""
        out: dict[str, Any] = {"type": "string"}
        if self.least:
            out["minLength"] = self.least
        if self.most is not None:
            out["maxLength"] = self.most
        if self.format is not None:
            out["format"] = self.format
        if len(self.patterns) == 1:
            out["pattern"] = self.patterns[0]
        elif self.patterns:
            out["allOf"] = [{"pattern": pattern} for pattern in self.patterns]
        return out

    def expression(self) -> str | None:
        """The shape as one regular expression, if one is enough."""
        bounded = self.least > 0 or self.most is not None
        if self.format is not None or len(self.patterns) + bounded > 1:
            return None
        return self.patterns[0] if self.patterns else patterns.of_length(self.least, self.most)


def build(facts: list[Fact], lowering: Lowering) -> list[TextShape]:
    """The shapes of the strings for which all these facts hold."""
    shape = TextShape()
    excluded: dict[str, None] = {}
    for fact in facts:
        if fact.name == "least":
            shape = replace(shape, least=max(shape.least, int(fact.value)))
        elif fact.name == "most":
            most = int(fact.value)
            shape = replace(shape, most=most if shape.most is None else min(shape.most, most))
        elif fact.name == "pattern":
            shape = _with_pattern(shape, fact, lowering)
        elif fact.name == "format":
            shape = _with_format(shape, fact, lowering)
        elif fact.name == "no format":
            if not lowering.asserts_format(fact.value):
                return []
            lowering.drop(fact, "the grammar has no form for 'any format but this'")
        elif fact.name == "exclude":
            excluded |= dict.fromkeys(value for value in fact.value if isinstance(value, str))
    if excluded:
        shape = _without(shape, list(excluded), facts, lowering)
    return [] if shape.empty else [shape]


def _with_pattern(shape: TextShape, fact: Fact, lowering: Lowering) -> TextShape:
    pattern, why = probe.grammar_pattern(fact.value)
    if pattern is None:
        lowering.drop(fact, why)
        return shape
    if why:
        lowering.narrow(fact, why)
    return replace(shape, patterns=tuple(dict.fromkeys((*shape.patterns, pattern))))


def _with_format(shape: TextShape, fact: Fact, lowering: Lowering) -> TextShape:
    if not lowering.asserts_format(fact.value):
        return shape
    if not probe.knows_format(fact.value):
        lowering.drop(fact, f"the grammar does not know the format {fact.value!r}")
    elif shape.format not in (None, fact.value):
        lowering.drop(fact, "the grammar takes one format at a time")
    else:
        return replace(shape, format=fact.value)
    return shape


def _without(
    shape: TextShape, words: list[str], facts: list[Fact], lowering: Lowering
) -> TextShape:
    if sum(map(len, words)) <= _MAX_EXCLUDED_CHARS:
        rest, narrowed = patterns.all_but(words)
        if narrowed:
            for fact in facts:
                if fact.name == "exclude":
                    lowering.narrow(fact, patterns.CONTROL_LEFT_OUT)
        if not probe.refusal({"type": "string", "pattern": rest}):
            return replace(shape, patterns=(*shape.patterns, rest))
    for fact in facts:
        if fact.name == "exclude":
            lowering.drop(fact, "the values to leave out are too long")
    return shape
