"""The report on a lowered schema: a verdict for each keyword, and what has no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vedette.schema_report import KeywordReport, SchemaReport, UnknownKeyword, Verdict, worse

from .dialect import OF_INPUT, Path
from .emit import Emitter
from .facts import ANY, NEVER, Keyword, Node
from .lower import Lowering
from .lowered import Mark
from .refs import Bundle

# What the validator can tell right from wrong.
ASSERTED_FORMATS = (
    *("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname"),
    *("ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid"),
    *("json-pointer", "relative-json-pointer", "regex"),
)
# These have no effect of their own: they say more about the keyword that stands beside them.
_BESIDE = {
    "then": "if",
    "else": "if",
    "minContains": "contains",
    "maxContains": "contains",
    "additionalItems": "items",
}
_INEXACT = "it rests on the opposite of something that the grammar cannot say exactly"


def review(
    bundle: Bundle, lowering: Lowering, emitter: Emitter, formats: Mapping[str, bool]
) -> SchemaReport:
    """The report on everything that can be reached from the schema's root."""
    verdicts = _verdicts(lowering, emitter)
    keywords: dict[tuple[str, str], KeywordReport] = {}
    unknown: dict[tuple[str, str], UnknownKeyword] = {}
    for path in bundle.paths():
        schema = bundle.at(path)
        if not isinstance(schema, dict):
            continue
        place = str(bundle.origin(path))
        for idle in _idle(bundle, path, schema, place, formats):
            unknown.setdefault((place, idle.keyword), idle)
        for keyword in schema:
            is_asserting = keyword in bundle.dialect.asserting or keyword in OF_INPUT
            if not is_asserting or (place, keyword) in unknown:
                continue
            verdict, reason = verdicts.get(
                Keyword(path, str(_BESIDE.get(keyword, keyword))), ("enforced", "")
            )
            old = keywords.get((place, keyword))
            if old is None or worse(verdict, old.verdict):
                keywords[(place, keyword)] = KeywordReport(place, keyword, verdict, reason)
    return SchemaReport(bundle.dialect.name, tuple(keywords.values()), tuple(unknown.values()))


def _verdicts(lowering: Lowering, emitter: Emitter) -> dict[Keyword, tuple[Verdict, str]]:
    exactness = _Exactness(lowering)
    out: dict[Keyword, tuple[Verdict, str]] = {}
    for lowered in emitter.reached.values():
        marks = list(lowered.marks)
        for causes, nodes in lowered.owed:
            if not all(exactness.exact(node) for node in nodes):
                marks += [Mark(cause, "checked", _INEXACT) for cause in causes]
        for mark in marks:
            if mark.keyword not in out or worse(mark.verdict, out[mark.keyword][0]):
                out[mark.keyword] = (mark.verdict, mark.reason)
    return out


class _Exactness:
    """Whether the grammar says exactly what a node means, all the way down."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._known: dict[Node, bool] = {ANY: True, NEVER: True}

    def exact(self, node: Node) -> bool:
        """No keyword of the node, or of one below it, is left out."""
        start = self._lowering.canonical(node)
        if start in self._known:
            return self._known[start]
        seen: dict[Node, None] = {}
        waiting = [start]
        while waiting:
            current = waiting.pop()
            if current in seen or self._known.get(current) is True:
                continue
            seen[current] = None
            lowered = self._lowering.lowered(current)
            if self._known.get(current) is False or any(
                mark.verdict != "enforced" for mark in lowered.marks
            ):
                self._known[start] = False
                return False
            parts = [*lowered.union, *(n for s in lowered.shapes for n in getattr(s, "nodes", ()))]
            waiting += [self._lowering.canonical(part) for part in parts]
        self._known |= dict.fromkeys(seen, True)
        return True


def _idle(
    bundle: Bundle, path: Path, schema: Mapping[str, Any], place: str, formats: Mapping[str, bool]
) -> Iterator[UnknownKeyword]:
    """The keywords of a schema that have no effect."""
    written = bundle.written(path)
    dialect = bundle.dialect
    alone = dialect.lone_ref and "$ref" in written
    for keyword in written:
        if alone and keyword in dialect.asserting - {"$ref"}:
            yield UnknownKeyword(place, keyword, f"{dialect.name} ignores it beside $ref")
        elif keyword not in dialect.keywords | OF_INPUT:
            close = dialect.suggestion(keyword)
            if keyword.startswith("x-") and close not in OF_INPUT:
                continue  # a note of the author's
            why = f"not a keyword of {dialect.name}"
            yield UnknownKeyword(place, keyword, f"{why}; is {close} meant?" if close else why)
    for keyword, beside in _BESIDE.items():
        if keyword in schema and beside not in schema:
            yield UnknownKeyword(place, keyword, f"without {beside} it says nothing")
    if "format" in schema and not formats.get(schema["format"], False):
        why = "not a format that is known" if schema["format"] not in formats else "not asserted"
        yield UnknownKeyword(place, "format", f"{schema['format']!r} is {why}: a note only")
