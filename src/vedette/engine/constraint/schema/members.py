"""Objects: which members there may be, which there must be, how many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from . import patterns, probe
from .choices import choices
from .facts import ANY, NEVER, Fact, Members, Node
from .text import TextShape
from .values import ValuesShape

if TYPE_CHECKING:
    from .lower import Lowering

_MAX_CASES = 128


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """Objects with a node for each named member, for each pattern of names, and for the rest."""

    named: tuple[tuple[str, Node], ...] = ()
    required: tuple[str, ...] = ()
    patterns: tuple[tuple[str, Node], ...] = ()
    rest: Node = ANY
    least: int = 0
    most: int | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of all members."""
        others = (node for _, node in self.patterns)
        return (*(node for _, node in self.named), *others, self.rest)

    def without(self, names: set[str]) -> ObjectShape:
        """The shape without these members."""
        named = tuple((name, NEVER if name in names else node) for name, node in self.named)
        return replace(self, named=named)


def build(facts: list[Fact], lowering: Lowering) -> list[ObjectShape]:
    """The shapes of the objects for which all these facts hold."""
    required: dict[str, None] = {}
    least, most = 0, None
    for fact in facts:
        if fact.name == "required":
            required |= dict.fromkeys(fact.value)
        elif fact.name == "least":
            least = max(least, int(fact.value))
        elif fact.name == "most":
            most = int(fact.value) if most is None else min(most, int(fact.value))
        elif fact.name == "exclude":
            least = max(least, 1 if {} in fact.value else 0)
            if any(isinstance(value, dict) and value for value in fact.value):
                lowering.drop(fact, "an object cannot be left out of all objects")
    shape = _united([f for f in facts if f.name == "members"], list(required), lowering)
    shape = replace(shape, least=least, most=most)
    for fact in facts:
        if fact.name == "names":
            shape = _with_names(shape, fact, lowering)
    return _counted(shape, facts, lowering)


def _united(facts: list[Fact], required: list[str], lowering: Lowering) -> ObjectShape:
    """What several schemas say about the members, as one shape."""
    groups: list[Members] = [fact.value for fact in facts]
    names = dict.fromkeys(name for group in groups for name in group.named)
    names |= dict.fromkeys(required)
    named = tuple((name, _for_name(groups, name)) for name in names)
    everywhere = _union(
        node
        for group in groups
        for pattern, node in group.patterns.items()
        if probe.is_universal(pattern)
    )
    rest = everywhere | _union(
        group.rest for group in groups if not any(map(probe.is_universal, group.patterns))
    )
    wanted = dict.fromkeys(p for g in groups for p in g.patterns if not probe.is_universal(p))
    translated = {pattern: probe.grammar_pattern(pattern) for pattern in wanted}
    trouble = next((why for _, why in translated.values() if why), "")
    usable = [pattern for pattern, _ in translated.values() if pattern is not None]
    if not trouble and not all(probe.disjoint(a, b) for a, b in combinations(usable, 2)):
        trouble = "a name can match several of the patterns"
    if trouble:
        for fact in facts:
            if fact.value.patterns:
                lowering.drop(fact, trouble)
        # A name that matches a dropped pattern need not meet the rest.
        strict = _union(group.rest for group in groups if not group.patterns)
        return ObjectShape(named, tuple(required), (), everywhere | strict)
    found = tuple(
        (grammar, everywhere | _for_pattern(groups, pattern))
        for pattern, (grammar, _) in translated.items()
        if grammar is not None
    )
    return ObjectShape(named, tuple(required), found, rest)


def _union(nodes: Iterator[Node] | list[Node]) -> Node:
    return frozenset().union(*nodes)


def _for_name(groups: list[Members], name: str) -> Node:
    """What a member of this name must meet."""
    out: Node = ANY
    for group in groups:
        matching = [n for p, n in group.patterns.items() if probe.matches(p, name)]
        own = [group.named[name]] if name in group.named else []
        out |= _union([*own, *matching]) if own or matching else group.rest
    return out


def _for_pattern(groups: list[Members], pattern: str) -> Node:
    """What a member must meet whose name matches this pattern, and so none of the others."""
    out: Node = ANY
    for group in groups:
        universal = any(map(probe.is_universal, group.patterns))
        out |= group.patterns.get(pattern, ANY if universal else group.rest)
    return out


def _with_names(shape: ObjectShape, fact: Fact, lowering: Lowering) -> ObjectShape:
    """The shape with only those names that meet a node."""
    names: Node = fact.value
    bad = {name for name, _ in shape.named if not lowering.valid(names, name)}
    shape = shape.without(bad)
    if lowering.is_empty(shape.rest) and not shape.patterns:
        return shape
    texts = lowering.texts(names)
    allowed = [text for text in texts if isinstance(text, ValuesShape)]
    if len(allowed) == len(texts):
        return _only(shape, [value for one in allowed for value in one.values])
    expressions = [_expression(text) for text in texts]
    if shape.patterns or None in expressions:
        lowering.drop(fact, "these names and the patterns have no common form in the grammar")
        return shape
    usable = [one for one in expressions if one is not None]
    pattern = usable[0] if len(usable) == 1 else "|".join(f"(?:{one})" for one in usable)
    if pattern == patterns.of_length(0, None):
        return shape
    rest = lowering.canonical(shape.rest)
    if not all(
        rest <= lowering.canonical(part) or lowering.is_empty(part) for _, part in shape.named
    ):
        # The engine holds named members to the pattern's schema as well.
        lowering.drop(fact, "named members and the others have different schemas")
        return shape
    return replace(shape, patterns=((pattern, shape.rest),), rest=NEVER)


def _expression(shape: TextShape | ValuesShape) -> str | None:
    return patterns.exactly(shape.values) if isinstance(shape, ValuesShape) else shape.expression()


def _only(shape: ObjectShape, names: list[str]) -> ObjectShape:
    """The shape with these names and no others."""
    known = dict(shape.named)
    more = [(name, _elsewhere(shape, name)) for name in names if name not in known]
    return replace(shape, named=(*shape.named, *more), patterns=(), rest=NEVER)


def _elsewhere(shape: ObjectShape, name: str) -> Node:
    """What a member must meet that is not among the named ones."""
    for pattern, node in shape.patterns:
        if probe.matches(pattern, name):
            return node
    return shape.rest


def _counted(shape: ObjectShape, facts: list[Fact], lowering: Lowering) -> list[ObjectShape]:
    """The shape with its number of members, as cases where the engine needs them."""
    possible = [name for name, node in shape.named if not lowering.is_empty(node)]
    optional = [name for name in possible if name not in shape.required]
    if not set(shape.required) <= set(possible):
        return []
    closed = lowering.is_empty(shape.rest) and all(
        lowering.is_empty(node) for _, node in shape.patterns
    )
    if closed:
        shape = replace(shape, patterns=(), rest=NEVER)
    have = len(shape.required)
    if shape.least <= have:
        shape = replace(shape, least=0)
    if shape.most is not None and closed and shape.most >= len(possible):
        shape = replace(shape, most=None)
    if shape.most is not None and shape.most < max(have, shape.least):
        return []
    if closed and shape.least > len(possible):
        return []
    if not shape.least and shape.most is None:
        return [shape]
    if not optional and not closed:
        return [shape]
    return _cases(shape, optional, closed, facts, lowering)


def _cases(
    shape: ObjectShape, optional: list[str], closed: bool, facts: list[Fact], lowering: Lowering
) -> list[ObjectShape]:
    """One shape per choice of optional members, with what is left to the engine to count."""
    have = len(shape.required)
    missing = max(shape.least - have, 0)
    room = len(optional) if shape.most is None else min(shape.most - have, len(optional))
    if shape.most is not None:
        sizes = range(missing if closed else 0, room + 1)
    else:
        sizes = range(missing if closed else 0, min(missing, room) + 1)
    chosen = choices(optional, sizes, _MAX_CASES)
    if chosen is None:
        for fact in facts:
            if fact.name in ("least", "most"):
                lowering.drop(fact, f"it would take more than {_MAX_CASES} cases")
        return [replace(shape, least=0, most=None)]
    out: list[ObjectShape] = []
    for names in chosen:
        enough = shape.most is None and len(names) == missing
        # The chosen ones are the first that are present: what follows them is free.
        until = optional.index(names[-1]) if enough and names else len(optional)
        left_out = set(optional[:until] if enough and names else optional) - set(names)
        if enough and not names:
            left_out = set()
        case = shape.without(left_out)
        required = (*shape.required, *names)
        counts = not enough and not closed
        out.append(
            replace(
                case,
                required=required,
                least=shape.least if counts and shape.least > len(required) else 0,
                most=shape.most if counts else None,
            )
        )
    return out
