"""Where the schemas of some documents are, and what a reference from one of them means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from .dialect import Dialect, Path, dialect_of, pointer
from .report import SchemaRefused, refused
from .wellformed import check_well_formed


@dataclass(frozen=True, slots=True)
class Place:
    """A schema: the document's URI (empty for the one being analysed) and the steps to it."""

    document: str
    path: Path

    def __str__(self) -> str:
        return self.document + ("#" if self.document else "") + pointer(self.path)


class Places:
    """All schemas of a document and of the files beside it, by URI, anchor and pointer.

    Files are read when something refers to them. Nothing is ever fetched.
    """

    def __init__(self, schema: Any, files: Mapping[str, Any], dialect: Dialect) -> None:
        self.dialect = dialect
        self._documents: dict[str, Any] = {"": schema}
        self._files = {urldefrag(uri).url: file for uri, file in files.items()}
        self._base: dict[Place, str] = {}
        self._resources: dict[str, Place] = {}
        self._anchors: dict[tuple[str, str], Place] = {}
        self._dynamic: dict[tuple[str, str], Place] = {}
        self._index(Place("", ()), schema, "")
        self._resources.setdefault("", Place("", ()))

    @property
    def opened(self) -> dict[str, Any]:
        """The files that something refers to, by URI."""
        return {uri: schema for uri, schema in self._documents.items() if uri}

    def at(self, place: Place) -> Any:
        """The schema at a place that is known to exist."""
        schema = self._documents[place.document]
        for step in place.path:
            schema = schema[step]
        return schema

    def resolve(self, place: Place, reference: str) -> Place:
        """The schema that a `$ref` at this place means.

        Raises `SchemaRefused` for one that is nowhere in the document or the given files.
        """
        uri, fragment = urldefrag(self._joined(self._base[place], reference))
        root = self._resources.get(uri) or self._opened(uri, place, reference)
        fragment = unquote(fragment)
        if not fragment:
            return root
        if fragment.startswith("/"):
            return self._followed(root, fragment, place, reference)
        found = self._anchors.get((uri, fragment)) or self._anchors.get(
            (self._base[root], fragment)
        )
        if found is None:
            raise _unresolved(place, reference, f"there is no anchor {fragment!r}")
        return found

    def resolve_dynamic(self, place: Place, reference: str) -> Place | None:
        """The schema that a `$dynamicRef` means; None where that depends on the way there.

        As 2020-12 has it (core, 8.2.3.2): if the reference ends at a `$dynamicAnchor`, the
        outermost resource on the way that has the same one wins. Only the document's root is
        on every way.
        """
        target = self.resolve(place, reference)
        name = urldefrag(reference).fragment
        if (self._base[target], name) not in self._dynamic:
            return target
        root = self._dynamic.get((self._base[Place("", ())], name))
        if root is not None:
            return root
        same = {found for (_, other), found in self._dynamic.items() if other == name}
        return target if len(same) == 1 else None

    def resolve_recursive(self, place: Place) -> Place | None:
        """The schema that a `$recursiveRef` (2019-09) means; None where that depends."""
        target = self.resolve(place, "#")
        schema = self.at(target)
        dynamic = isinstance(schema, dict) and schema.get("$recursiveAnchor") is True
        return target if not dynamic or target == Place("", ()) else None

    def _joined(self, base: str, reference: str) -> str:
        if reference.startswith("#"):  # urljoin knows no fragments of urn: and the like
            return base + reference
        return urljoin(base, reference) if base else reference

    def _opened(self, uri: str, place: Place, reference: str) -> Place:
        if uri not in self._files:
            raise _unresolved(
                place,
                reference,
                f"{uri} is not in this document and not among the given files",
                hint="give the file that holds it; nothing is fetched",
            )
        schema = self._files[uri]
        if isinstance(schema, dict) and "$schema" in schema:
            theirs = dialect_of(schema)
            if theirs != self.dialect:
                raise _unresolved(
                    place, reference, f"{uri} is {theirs.name}, this schema {self.dialect.name}"
                )
        check_well_formed(schema, self.dialect, uri)
        root = Place(uri, ())
        self._documents[uri] = schema
        self._resources[uri] = root
        self._index(root, schema, uri)
        return root

    def _followed(self, root: Place, fragment: str, place: Place, reference: str) -> Place:
        value, path = self.at(root), root.path
        for token in fragment[1:].split("/"):
            name = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value, path = value[name], (*path, name)
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value, path = value[int(name)], (*path, int(name))
            else:
                raise _unresolved(place, reference, f"there is no {name!r} on the way")
        if not isinstance(value, dict | bool):
            raise _unresolved(place, reference, f"that is {type(value).__name__}, not a schema")
        found = Place(root.document, path)
        if found not in self._base:  # it stands where the draft has no schemas
            self._index(found, value, self._base_above(found))
        return found

    def _base_above(self, place: Place) -> str:
        for length in range(len(place.path) - 1, -1, -1):
            above = Place(place.document, place.path[:length])
            if above in self._base:
                return self._base[above]
        return ""

    def _index(self, place: Place, schema: Any, base: str) -> None:
        if not isinstance(schema, dict):
            self._base[place] = base
            return
        base = self._own_base(place, schema, base)
        self._base[place] = base
        for keyword, table in (("$anchor", self._anchors), ("$dynamicAnchor", self._dynamic)):
            name = schema.get(keyword)
            if isinstance(name, str) and keyword in self.dialect.keywords:
                table.setdefault((base, name), place)
                self._anchors.setdefault((base, name), place)
        for steps, part in self.dialect.children(schema):
            self._index(Place(place.document, place.path + steps), part, base)

    def _own_base(self, place: Place, schema: Mapping[str, Any], base: str) -> str:
        name = schema.get(self.dialect.id_keyword)
        if not isinstance(name, str) or (self.dialect.lone_ref and "$ref" in schema):
            return base
        uri, fragment = urldefrag(self._joined(base, name))
        if fragment:  # up to draft 7, this is how an anchor is written
            self._anchors.setdefault((uri, fragment), place)
            return base if name.startswith("#") else uri
        self._resources.setdefault(uri, place)
        return uri


def _unresolved(place: Place, reference: str, why: str, hint: str | None = None) -> SchemaRefused:
    reason = f"{reference!r} cannot be resolved: {why}"
    return refused(reason, pointer=str(place), keyword="$ref", hint=hint)
