"""What each draft of JSON Schema knows: its keywords, and which of them hold schemas.

Drafts 7 and 2020-12 are the ones that people write; 4, 6 and 2019-09 are read too, since they
differ in a few keywords only. A schema without `$schema` is read as 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .report import refused

Step = str | int
Path = tuple[Step, ...]

_ONE = {"additionalProperties", "not", "items"}
_MANY = {"allOf", "anyOf", "oneOf", "items"}
_NAMED = {"properties", "patternProperties", "definitions", "dependencies"}
_PLAIN = {
    *("type", "enum", "multipleOf", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems"),
    *("uniqueItems", "minProperties", "maxProperties", "required", "$ref"),
}
_NOTES = {"$schema", "title", "description", "default"}

_ONE_6 = _ONE | {"contains", "propertyNames", "additionalItems"}
_ONE_7 = _ONE_6 | {"if", "then", "else"}
_ONE_2019 = _ONE_7 | {"unevaluatedItems", "unevaluatedProperties"}
_NAMED_2019 = _NAMED | {"$defs", "dependentSchemas"}
_PLAIN_2019 = _PLAIN | {"const", "minContains", "maxContains", "dependentRequired"}
_NOTES_7 = _NOTES | {
    *("$id", "$comment", "examples", "readOnly", "writeOnly"),
    *("contentMediaType", "contentEncoding"),
}
# vedette's own: what the input must bear out. Other x- keywords are the author's notes.
OF_INPUT = frozenset({"x-verbatim", "x-one-of-input", "x-evidence"})

_NOTES_2019 = _NOTES_7 | {"$anchor", "$vocabulary", "deprecated", "contentSchema"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One draft. `one`, `many` and `named` hold a schema, a list of them, schemas by name.

    `plain` keywords assert something and hold none, `notes` assert nothing. Where `lone_ref` is
    true, whatever stands beside a `$ref` is ignored.
    """

    name: str
    uri: str
    one: frozenset[str]
    many: frozenset[str]
    named: frozenset[str]
    plain: frozenset[str]
    notes: frozenset[str]
    lone_ref: bool
    id_keyword: str = "$id"

    @property
    def keywords(self) -> frozenset[str]:
        """Every keyword that this draft knows."""
        return self.one | self.many | self.named | self.plain | self.notes

    @property
    def asserting(self) -> frozenset[str]:
        """The keywords that can make a value invalid."""
        return (self.one | self.many | self.named | self.plain) - {"$defs", "definitions"}

    def children(self, schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
        """The subschemas directly below, each with its steps from here."""
        for key, value in schema.items():
            if isinstance(value, dict | bool) and key in self.one:
                yield (key,), value
            elif isinstance(value, list) and key in self.many:
                yield from (((key, n), part) for n, part in enumerate(value))
            elif isinstance(value, dict) and key in self.named:
                for name, part in value.items():
                    if isinstance(part, dict | bool):
                        yield (key, name), part

    def suggestion(self, keyword: str) -> str | None:
        """The known keyword that an unknown one most looks like."""
        lowered = {known.lower(): known for known in sorted(self.keywords | OF_INPUT)}
        close = get_close_matches(keyword.lower(), lowered, n=1, cutoff=0.75)
        return lowered[close[0]] if close else None


def _dialect(
    name: str,
    uri: str,
    *,
    one: set[str],
    named: set[str],
    plain: set[str],
    notes: set[str],
    many: set[str] = _MANY,
    lone_ref: bool = True,
    id_keyword: str = "$id",
) -> Dialect:
    return Dialect(
        name=name,
        uri=uri,
        one=frozenset(one),
        many=frozenset(many),
        named=frozenset(named),
        plain=frozenset(plain),
        notes=frozenset(notes),
        lone_ref=lone_ref,
        id_keyword=id_keyword,
    )


DRAFT_4 = _dialect(
    "draft 4",
    "http://json-schema.org/draft-04/schema",
    one=_ONE | {"additionalItems"},
    named=_NAMED,
    plain=_PLAIN,
    notes=_NOTES | {"id"},
    id_keyword="id",
)
DRAFT_6 = _dialect(
    "draft 6",
    "http://json-schema.org/draft-06/schema",
    one=_ONE_6,
    named=_NAMED,
    plain=_PLAIN | {"const"},
    notes=_NOTES | {"$id", "examples"},
)
DRAFT_7 = _dialect(
    "draft 7",
    "http://json-schema.org/draft-07/schema",
    one=_ONE_7,
    named=_NAMED,
    plain=_PLAIN | {"const"},
    notes=_NOTES_7,
)
DRAFT_2019_09 = _dialect(
    "draft 2019-09",
    "https://json-schema.org/draft/2019-09/schema",
    one=_ONE_2019,
    named=_NAMED_2019,
    plain=_PLAIN_2019 | {"$recursiveRef"},
    notes=_NOTES_2019 | {"$recursiveAnchor"},
    lone_ref=False,
)
DRAFT_2020_12 = _dialect(
    "draft 2020-12",
    "https://json-schema.org/draft/2020-12/schema",
    one=_ONE_2019 - {"additionalItems"},
    many=(_MANY - {"items"}) | {"prefixItems"},
    named=_NAMED_2019,
    plain=_PLAIN_2019 | {"$dynamicRef"},
    notes=_NOTES_2019 | {"$dynamicAnchor"},
    lone_ref=False,
)
_BY_URI = {d.uri: d for d in (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019_09, DRAFT_2020_12)}


def dialect_of(schema: object) -> Dialect:
    """The draft that `$schema` names. Raises `SchemaRefused` for one that is not known."""
    if not isinstance(schema, Mapping) or "$schema" not in schema:
        return DRAFT_2020_12
    named = schema["$schema"]
    known = _BY_URI.get(named.rstrip("#")) if isinstance(named, str) else None
    if known is None:
        raise refused(
            f"{named!r} is not a known draft of JSON Schema",
            keyword="$schema",
            hint="use https://json-schema.org/draft/2020-12/schema, or leave $schema out",
        )
    return known


def pointer(path: Path) -> str:
    """The path as a JSON Pointer (RFC 6901); the root is the empty text."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
