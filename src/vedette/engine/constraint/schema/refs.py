"""One self-contained schema out of a document and the files that it refers to.

In the result every reference is `#/$defs/name`, and all identifiers and anchors are gone. Its
subschemas know where they were written, so that reports speak of the author's own places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .dialect import Dialect, Path
from .places import Place, Places

_DROPPED = frozenset(
    {
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"),
        *("$vocabulary", "$defs", "definitions", "$comment"),
    }
)
_COUNTS = frozenset(
    {
        *("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
        *("minProperties", "maxProperties"),
    }
)
_MOST_COUNTED = 2**31 - 1  # no answer comes to more, and the grammar engine holds no more
OPEN_REF = "#"  # the value of a `$dynamicRef` whose target depends on the way there


@dataclass(frozen=True, slots=True)
class Bundle:
    """A self-contained schema. `places` says where the root (None) and each def came from."""

    dialect: Dialect
    root: Any
    defs: Mapping[str, Any]
    places: Mapping[str | None, Place]
    open_refs: bool
    documents: Places

    def at(self, path: Path) -> Any:
        """The subschema at a path, which starts with `$defs` and a name, or at the root."""
        if path[:1] == ("$defs",):
            schema, rest = self.defs[str(path[1])], path[2:]
        else:
            schema, rest = self.root, path
        for step in rest:
            schema = schema[step]
        return schema

    def origin(self, path: Path) -> Place:
        """Where the subschema at this path was written."""
        if path[:1] == ("$defs",):
            start, rest = self.places[str(path[1])], path[2:]
        else:
            start, rest = self.places[None], path
        return Place(start.document, start.path + rest)

    def written(self, path: Path) -> Any:
        """The subschema at this path as its author wrote it."""
        return self.documents.at(self.origin(path))

    def paths(self) -> Iterator[Path]:
        """Every subschema in the order in which it is written: the root's first, then the defs."""
        waiting: list[tuple[Path, Any]] = [
            (("$defs", name), schema) for name, schema in reversed(list(self.defs.items()))
        ]
        waiting.append(((), self.root))
        while waiting:
            path, schema = waiting.pop()
            yield path
            if isinstance(schema, dict):
                below = [(path + steps, part) for steps, part in self.dialect.children(schema)]
                waiting += reversed(below)


def bundle(schema: Any, files: Mapping[str, Any], dialect: Dialect) -> Bundle:
    """Resolve every reference that can be reached from the schema.

    Raises `SchemaRefused` for a reference to anything but the document and the given files.
    """
    return _Bundler(Places(schema, files, dialect)).run()


class _Bundler:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._dialect = places.dialect
        self._names: dict[Place, str] = {}
        self._waiting: list[Place] = []
        self._open_refs = False

    def run(self) -> Bundle:
        start = Place("", ())
        root = self._rewritten(start)
        defs: dict[str, Any] = {}
        while self._waiting:
            place = self._waiting.pop(0)
            defs[self._names[place]] = self._rewritten(place)
        origins: dict[str | None, Place] = {name: place for place, name in self._names.items()}
        origins[None] = start
        return Bundle(self._dialect, root, defs, origins, self._open_refs, self._places)

    def _rewritten(self, place: Place) -> Any:
        schema = self._places.at(place)
        if not isinstance(schema, dict):
            return schema
        if self._dialect.lone_ref and isinstance(schema.get("$ref"), str):
            return {"$ref": self._reference(self._places.resolve(place, schema["$ref"]))}
        children = {
            steps: self._rewritten(Place(place.document, place.path + steps))
            for steps, _ in self._dialect.children(schema)
            if steps[0] not in _DROPPED
        }
        out: dict[str, Any] = {}
        for key, value in schema.items():
            if key not in _DROPPED and (key in self._dialect.keywords or key.startswith("x-")):
                out[key] = self._value(place, key, value, children)
        return _plain_bounds(out) if self._dialect.name == "draft 4" else out

    def _value(self, place: Place, key: str, value: Any, children: Mapping[Path, Any]) -> Any:
        if key in ("$ref", "$dynamicRef", "$recursiveRef") and key in self._dialect.plain:
            return self._target(place, key, value)
        if key in _COUNTS:
            return int(min(value, _MOST_COUNTED))
        if (key,) in children:
            return children[(key,)]
        if key in self._dialect.many and isinstance(value, list):
            return [children.get((key, n), part) for n, part in enumerate(value)]
        if key in self._dialect.named and isinstance(value, dict):
            return {name: children.get((key, name), part) for name, part in value.items()}
        return value

    def _target(self, place: Place, key: str, reference: str) -> str:
        if key == "$ref":
            target: Place | None = self._places.resolve(place, reference)
        elif key == "$dynamicRef":
            target = self._places.resolve_dynamic(place, reference)
        else:
            target = self._places.resolve_recursive(place)
        if target is None:
            self._open_refs = True
            return OPEN_REF
        return self._reference(target)

    def _reference(self, target: Place) -> str:
        if target not in self._names:
            self._names[target] = self._name(target)
            self._waiting.append(target)
        return "#/$defs/" + self._names[target].replace("~", "~0").replace("/", "~1")

    def _name(self, target: Place) -> str:
        words = [str(step) for step in target.path if step not in ("$defs", "definitions")]
        plain = "".join(c if c.isalnum() or c in "_-" else "_" for c in "_".join(words)) or "root"
        taken, name, n = set(self._names.values()), plain, 2
        while name in taken:
            name, n = f"{plain}_{n}", n + 1
        return name


def _plain_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """Draft 4 marks a bound as exclusive with a boolean beside it; later drafts have a number."""
    out = dict(schema)
    for bound, mark in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(out.get(mark), bool):
            exclusive = out.pop(mark)
            if exclusive and bound in out:
                out[mark] = out.pop(bound)
    return out
