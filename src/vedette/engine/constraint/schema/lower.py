"""From nodes to shapes: what the grammar can say of each, and what it has to leave out.

Nothing is left out without a mark at the keyword: `checked` if the grammar lets more through,
`narrowed` if less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from vedette.types import Json

from . import array, members, number, text
from .case import Case
from .dialect import DRAFT_4, DRAFT_6, Path
from .expand import Expander
from .facts import ANY, KINDS, NEVER, Assume, Fact, Keyword, Kind, Node, Signed, is_never, node
from .here import kinds_of, target_of
from .lowered import Lowered, Mark, Shape, dropped, nodes_of
from .refs import Bundle
from .text import TextShape
from .validator import validator
from .values import ValuesShape, key, kind_of

_MAX_COMPARED = 32  # alternatives of a oneOf that are compared with each other
_OWN_FILTER = frozenset({"type", "enum", "const"})


class Lowering:
    """Lowers the nodes of one bundle, each once."""

    def __init__(self, bundle: Bundle, formats: Mapping[str, bool]) -> None:
        self.bundle = bundle
        self._formats = formats
        self._expander = Expander(bundle, self._overlapping)
        self._lowered: dict[Node, Lowered] = {}
        self._busy: set[Node] = set()
        self._rank = {path: n for n, path in enumerate(bundle.paths())}
        self._marks: list[Mark] = []
        self._valid = lru_cache(maxsize=None)(self._validator)

    def lowered(self, wanted: Node) -> Lowered:
        """The shapes of a node that `canonical` has been applied to."""
        if wanted not in self._lowered:
            self._busy.add(wanted)
            kept, self._marks = self._marks, []
            try:
                self._lowered[wanted] = self._lower(wanted)
            finally:
                self._marks = kept
                self._busy.discard(wanted)
        return self._lowered[wanted]

    def canonical(self, wanted: Node) -> Node:
        """The node in its plainest form.

        A schema that is nothing but a `$ref` is replaced by what it refers to; one that says
        nothing is left out.
        """
        out = frozenset(Signed(self._followed(path), holds) for path, holds in wanted)
        says = {signed: self._says(signed.path) for signed in out}
        if any(truth is not None and truth != signed.holds for signed, truth in says.items()):
            return NEVER
        return frozenset(signed for signed, truth in says.items() if truth is None)

    def _says(self, path: Path) -> bool | None:
        """True or false if the schema holds for every value or for none; else None."""
        schema = False if is_never(path) else self.bundle.at(path)
        if isinstance(schema, bool):
            return schema
        return None if self.bundle.dialect.asserting & schema.keys() or _has_notes(schema) else True

    def is_empty(self, wanted: Node) -> bool:
        """Whether certainly no value belongs to the node; a node still in work counts as not."""
        wanted = self.canonical(wanted)
        if wanted == ANY or wanted in self._busy:
            return False
        if wanted == NEVER:
            return True
        lowered = self.lowered(wanted)
        if lowered.union:
            return all(self.is_empty(part) for part in lowered.union)
        return not lowered.shapes

    def finite(self, wanted: Node) -> list[Any] | None:
        """The values of the node, if they are all listed."""
        wanted = self.canonical(wanted)
        if wanted == ANY or wanted in self._busy:
            return None
        lowered = self.lowered(wanted)
        parts = [self.finite(part) for part in lowered.union]
        if lowered.union:
            return None if None in parts else [v for part in parts if part for v in part]
        values: list[Any] = []
        for shape in lowered.shapes:
            if not isinstance(shape, ValuesShape):
                return None
            values += shape.values
        return list({key(value): value for value in values}.values())

    def texts(self, wanted: Node) -> list[TextShape | ValuesShape]:
        """The node's shapes of strings."""
        wanted = self.canonical(wanted)
        lowered = self.lowered(wanted)
        self._marks += lowered.marks
        if lowered.union:
            return [text for part in lowered.union for text in self.texts(part)]
        out: list[TextShape | ValuesShape] = []
        for shape in lowered.shapes:
            if isinstance(shape, TextShape):
                out.append(shape)
            elif isinstance(shape, ValuesShape):
                words: list[Json] = [v for v in shape.values if isinstance(v, str)]
                out += [ValuesShape.of(words)] if words else []
        return out

    def negated(self, wanted: Node) -> Node:
        """The node of all other values; for nodes of one assumption."""
        ((path, holds),) = wanted
        return node(path, not holds)

    def valid(self, wanted: Iterable[Signed], value: Json) -> bool:
        """Whether a value meets all assumptions. True where that depends on the way there."""
        if self.bundle.open_refs:
            return True
        return all(
            not is_never(path) and self._valid(path).is_valid(value) == holds
            for path, holds in wanted
        )

    def asserts_format(self, name: object) -> bool:
        """Whether a value can break this format."""
        return isinstance(name, str) and self._formats.get(name, False)

    def drop(self, fact: Fact, reason: str) -> None:
        """Note that a fact is left out of the grammar: the keyword is checked afterwards."""
        for keyword in (fact.source, *fact.causes):
            self._marks.append(Mark(keyword, "checked", reason))

    def narrow(self, fact: Fact, reason: str) -> None:
        """Note that the grammar is narrower than the keyword."""
        self._marks.append(Mark(fact.source, "narrowed", reason))

    def ordered(self, wanted: Node) -> list[Signed]:
        """The assumptions in the order in which their schemas are written."""
        return sorted(wanted, key=lambda signed: (self._rank.get(signed.path, -1), signed.holds))

    def _lower(self, wanted: Node) -> Lowered:
        union = self._plain_union(wanted)
        if union:
            return Lowered(union=union)
        out = Lowered()
        cases = self._expander.cases([Assume(signed) for signed in self.ordered(wanted)])
        for case in cases:
            shapes = self._of_values(case) if case.values is not None else self._of_case(case, out)
            out.shapes += [shape for shape in shapes if shape not in out.shapes]
        out.marks += self._marks
        out.notes = self._notes(cases)
        return out

    def _plain_union(self, wanted: Node) -> tuple[Node, ...]:
        """The alternatives of a node that consists of nothing else."""
        if len(wanted) != 1:
            return ()
        ((path, holds),) = wanted
        schema = False if is_never(path) else self.bundle.at(path)
        if isinstance(schema, bool) or not holds or _has_notes(schema):
            return ()
        keywords = self.bundle.dialect.asserting & schema.keys()
        if keywords not in ({"anyOf"}, {"oneOf"}):
            return ()
        (keyword,) = keywords
        paths = [(*path, keyword, n) for n in range(len(schema[keyword]))]
        if keyword == "oneOf" and any(
            self._overlapping(one, paths[n + 1 :]) for n, one in enumerate(paths)
        ):
            return ()
        return tuple(dict.fromkeys(self.canonical(node(part)) for part in paths))

    def _overlapping(self, path: Path, others: list[Path]) -> list[Path]:
        if len(others) > _MAX_COMPARED or self._expander.tired:
            return others
        return [
            other
            for other in others
            if not self.is_empty(frozenset({Signed(path, True), Signed(other, True)}))
        ]

    def _of_values(self, case: Case) -> list[Shape]:
        values = self._meeting(case, case.values or [])
        if self.bundle.open_refs:
            for path, _ in case.assumed:
                schema = {} if is_never(path) else self.bundle.at(path)
                for name in schema if isinstance(schema, dict) else ():
                    why = "the listed values are checked only when one is given"
                    self._marks.append(Mark(Keyword(path, name), "checked", why))
        return [ValuesShape.of(values)] if values else []

    def _meeting(self, case: Case, values: list[Json]) -> list[Json]:
        """Those of the values that meet all that the case assumes."""
        simple = self._simple(case)
        if simple is None:
            return [value for value in values if self.valid(case.assumed, value)]
        for schema in simple:
            kinds, integer = kinds_of(schema.get("type", list(KINDS)))
            listed = schema.get("enum", [schema["const"]] if "const" in schema else values)
            wanted = set(map(key, listed))
            values = [
                value
                for value in values
                if kind_of(value) in kinds
                and not (integer and isinstance(value, float) and not value.is_integer())
                and key(value) in wanted
            ]
        return values

    def _simple(self, case: Case) -> list[Mapping[str, Any]] | None:
        """The schemas of a case, if each only names types and values."""
        out = []
        for path, holds in case.assumed:
            schema = False if is_never(path) else self.bundle.at(path)
            if isinstance(schema, bool) or not holds:
                return None
            asserting = self.bundle.dialect.asserting & schema.keys()
            if not asserting <= _OWN_FILTER or {"enum", "const"} <= asserting:
                return None
            out.append(schema)
        return out

    def _of_case(self, case: Case, out: Lowered) -> list[Shape]:
        shapes: list[Shape] = []
        for kind in KINDS:
            if kind not in case.kinds:
                continue
            facts = [fact for fact in case.facts if fact.kind in (kind, None)]
            kept, self._marks = self._marks, []
            found = self._of_kind(kind, facts, case.integer)
            if found:
                kept += self._marks
                for fact in facts:
                    out.owed += self._owed(fact)
                    if fact.name == "dropped":
                        kept += [dropped(fact, k) for k in (fact.source, *fact.causes)]
            self._marks = kept
            shapes += found
        return shapes

    def _owed(self, fact: Fact) -> list[tuple[tuple[Keyword, ...], tuple[Node, ...]]]:
        out = [(fact.causes, nodes_of(fact))] if fact.causes and nodes_of(fact) else []
        if fact.name == "contains" and fact.value.most is not None:
            out.append(((fact.source,), (self.negated(fact.value.match),)))
        return out

    def _of_kind(self, kind: Kind, facts: list[Fact], integer: bool) -> list[Shape]:
        if kind == "number":
            return list(number.build(facts, integer, self))
        if kind == "string":
            return list(text.build(facts, self))
        if kind == "array":
            return list(array.build(facts, self))
        if kind == "object":
            return list(members.build(facts, self))
        excluded = {key(v) for fact in facts if fact.name == "exclude" for v in fact.value}
        candidates: list[Json] = [None] if kind == "null" else [True, False]
        values = [value for value in candidates if key(value) not in excluded]
        return [ValuesShape.of(values)] if values else []

    def _followed(self, path: Path) -> Path:
        seen: set[Path] = set()
        while path not in seen and not is_never(path):
            seen.add(path)
            schema = self.bundle.at(path)
            if isinstance(schema, bool) or _has_notes(schema):
                break
            if self.bundle.dialect.asserting & schema.keys() != {"$ref"}:
                break
            path = target_of(schema["$ref"])
        return path

    def _notes(self, cases: list[Case]) -> dict[str, Any]:
        """The `x-` keywords of the schemas that every case assumes."""
        if not cases:
            return {}
        common = [s for s in cases[0].assumed if all(s in case.assumed for case in cases)]
        notes: dict[str, Any] = {}
        for path, holds in common:
            schema = {} if is_never(path) or not holds else self.bundle.at(path)
            if isinstance(schema, dict):
                notes |= {name: v for name, v in schema.items() if name.startswith("x-")}
        return notes

    def _validator(self, path: Path) -> jsonschema_rs.Validator:
        dialect = DRAFT_6 if self.bundle.dialect == DRAFT_4 else self.bundle.dialect
        whole = {
            "$schema": dialect.uri,
            "allOf": [self.bundle.at(path)],
            "$defs": dict(self.bundle.defs),
        }
        return validator(whole, self._formats)


def _has_notes(schema: Mapping[str, Any]) -> bool:
    return any(name.startswith("x-") for name in schema)
