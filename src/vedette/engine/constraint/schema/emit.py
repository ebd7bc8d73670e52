"""The shapes of a schema, written as the JSON Schema that the grammar engine gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .array import ArrayShape
from .facts import ANY, KINDS, NEVER, Node
from .lower import Lowering
from .lowered import Lowered, Shape
from .members import ObjectShape
from .number import NumberShape
from .text import TextShape
from .values import ValuesShape, key

_NO_LIMIT: dict[Shape, str] = {
    NumberShape(): "number",
    TextShape(): "string",
    ArrayShape(): "array",
    ObjectShape(): "object",
}


class Emitter:
    """Writes a node and all that it needs. Shapes that no finite value has are left out."""

    def __init__(self, lowering: Lowering, root: Node) -> None:
        self._lowering = lowering
        self._root = lowering.canonical(root)
        self.reached: dict[Node, Lowered] = {}
        self._uses: dict[Node, int] = {}
        self._reach()
        self._productive: set[Node] = {ANY}
        self._settle()
        self._names: dict[Node, str] = {}
        self._defs: dict[str, Any] = {}

    @property
    def possible(self) -> bool:
        """Some value meets the schema."""
        return self._root in self._productive

    def schema(self) -> dict[str, Any]:
        """The whole, with its `$defs`; `possible` must be true."""
        root = self._node(self._root)
        out: dict[str, Any] = root if isinstance(root, dict) else {}
        return {**out, "$defs": self._defs} if self._defs else out

    def _reach(self) -> None:
        """Lower every node that can be reached, and count how often each is used."""
        waiting = [self._root]
        cycles = _Cycles()
        while waiting:
            node = waiting.pop()
            if node in self.reached or node in (ANY, NEVER):
                continue
            lowered = self._lowering.lowered(node)
            self.reached[node] = lowered
            for part in self._parts(lowered):
                self._uses[part] = self._uses.get(part, 0) + 1
                cycles.add(node, part)
                waiting.append(part)
        for node in cycles.found():
            self._uses[node] = self._uses.get(node, 0) + 2

    def _parts(self, lowered: Lowered) -> list[Node]:
        nodes = list(lowered.union)
        for shape in lowered.shapes:
            if isinstance(shape, ArrayShape | ObjectShape):
                nodes += shape.nodes
        return [self._lowering.canonical(node) for node in nodes]

    def _settle(self) -> None:
        """Find the nodes that some finite value meets: least fixed point over all nodes."""
        changed = True
        while changed:
            changed = False
            for node, lowered in self.reached.items():
                if node not in self._productive and self._produces(lowered):
                    self._productive.add(node)
                    changed = True

    def _produces(self, lowered: Lowered) -> bool:
        if any(self._lowering.canonical(part) in self._productive for part in lowered.union):
            return True
        return any(self._fits(shape) for shape in lowered.shapes)

    def _some(self, node: Node) -> bool:
        return self._lowering.canonical(node) in self._productive

    def _fits(self, shape: Shape) -> bool:
        if isinstance(shape, ObjectShape):
            named = dict(shape.named)
            if not all(self._some(named[name]) for name in shape.required):
                return False
            more = any(map(self._some, shape.nodes))
            return shape.least <= len(shape.required) or more
        if isinstance(shape, ArrayShape):
            return all(self._some(shape.at(n)) for n in range(min(shape.least, 1000)))
        return True

    def _node(self, node: Node) -> Any:
        if node == ANY:
            return {}
        if node not in self._productive:
            return False
        lowered = self.reached[node]
        body = self._union(lowered) if lowered.union else self._shapes(lowered.shapes)
        return {**body, **lowered.notes} if lowered.notes else body

    def _use(self, node: Node) -> Any:
        """The node where it is used: in place, or as a reference if it is used again."""
        node = self._lowering.canonical(node)
        if node == ANY or node not in self._productive or self._uses.get(node, 0) < 2:
            return self._node(node)
        lowered = self.reached[node]
        if not lowered.union and not lowered.notes and len(lowered.shapes) <= len(KINDS):
            small = all(
                isinstance(s, ValuesShape | NumberShape | TextShape) or s in _NO_LIMIT
                for s in lowered.shapes
            )
            if small and self._size(lowered) <= 12:
                return self._node(node)
        if node not in self._names:
            self._names[node] = self._name(node)
            self._defs[self._names[node]] = True  # the place is taken; the body may refer to it
            self._defs[self._names[node]] = self._node(node)
        return {"$ref": "#/$defs/" + self._names[node]}

    def _size(self, lowered: Lowered) -> int:
        return sum(len(s.texts) if isinstance(s, ValuesShape) else 1 for s in lowered.shapes)

    def _name(self, node: Node) -> str:
        ordered = self._lowering.ordered(node)
        words = [
            f"{'' if signed.holds else 'not_'}{signed.path[-1]}"
            for signed in ordered
            if signed.path
        ][:3]
        plain = "_".join("".join(c if c.isalnum() else "_" for c in word) for word in words)
        taken, name, n = set(self._names.values()), plain or "root", 2
        while name in taken:
            name, n = f"{plain or 'root'}_{n}", n + 1
        return name

    def _union(self, lowered: Lowered) -> dict[str, Any]:
        parts = [
            part
            for part in map(self._lowering.canonical, lowered.union)
            if part in self._productive
        ]
        if len(parts) == 1:
            only = self._use(parts[0])
            return only if isinstance(only, dict) else {}
        return {"anyOf": [self._use(part) for part in parts]}

    def _shapes(self, shapes: list[Shape]) -> dict[str, Any]:
        """One schema if there is at most one shape of a kind, else `anyOf`."""
        fitting = [shape for shape in shapes if self._fits(shape)]
        values = [v for shape in fitting if isinstance(shape, ValuesShape) for v in shape.values]
        values = list({key(value): value for value in values}.values())
        others = [shape for shape in fitting if not isinstance(shape, ValuesShape)]
        free = {type(shape) for shape in others if shape in _NO_LIMIT}
        others = [s for s in others if type(s) not in free or s in _NO_LIMIT]
        kinds, values = _as_kinds(values, bool(others))
        singles = [s for s in others if [type(o) for o in others].count(type(s)) == 1]
        branches: list[dict[str, Any]] = []
        if singles or kinds:
            branches.append(self._together(kinds, singles))
        branches += [self._shape(shape) for shape in others if shape not in singles]
        if values:
            branches.append({"enum": values})
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def _together(self, kinds: list[str], singles: Sequence[Shape]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        names = []
        for shape in singles:
            schema = self._shape(shape)
            names.append(schema.pop("type"))
            out |= schema
        names += kinds
        if set(names) == set(KINDS):
            return out
        return {"type": names[0] if len(names) == 1 else names, **out}

    def _shape(self, shape: Shape) -> dict[str, Any]:
        if isinstance(shape, ArrayShape):
            return self._array(shape)
        if isinstance(shape, ObjectShape):
            return self._object(shape)
        return {"enum": shape.values} if isinstance(shape, ValuesShape) else shape.schema()

    def _array(self, shape: ArrayShape) -> dict[str, Any]:
        most = shape.most
        for index in range(len(shape.first)):
            if (most is None or index < most) and not self._some(shape.at(index)):
                most = index
        shape = replace(shape, most=most, first=shape.first[:most])
        out: dict[str, Any] = {"type": "array"}
        if shape.first:
            out["prefixItems"] = [self._use(node) for node in shape.first]
        if shape.rest != ANY:
            out["items"] = self._use(shape.rest)
        if shape.least:
            out["minItems"] = shape.least
        if shape.most is not None and out.get("items") is not False:
            out["maxItems"] = shape.most
        return out

    def _object(self, shape: ObjectShape) -> dict[str, Any]:
        out: dict[str, Any] = {"type": "object"}
        closed = not self._some(shape.rest) and not any(self._some(n) for _, n in shape.patterns)
        named = {
            name: self._use(node) for name, node in shape.named if self._some(node) or not closed
        }
        if named:
            out["properties"] = named
        if shape.required:
            out["required"] = list(shape.required)
        if shape.patterns and not closed:
            out["patternProperties"] = {
                pattern: self._use(node) for pattern, node in shape.patterns
            }
        if shape.rest != ANY:
            out["additionalProperties"] = self._use(shape.rest)
        if shape.least > 0:
            out["minProperties"] = shape.least
        if shape.most is not None:
            out["maxProperties"] = shape.most
        return out


def _as_kinds(values: list[Any], beside: bool) -> tuple[list[str], list[Any]]:
    """Null and the pair of booleans as types, where that is all that is listed."""
    kinds = []
    if any(v is True for v in values) and any(v is False for v in values):
        kinds.append("boolean")
    if any(v is None for v in values):
        kinds.append("null")
    left = [v for v in values if not isinstance(v, bool) and v is not None]
    if "boolean" not in kinds:
        left += [v for v in values if isinstance(v, bool)]
    if left and not beside:
        return [], values
    return kinds, left


class _Cycles:
    """Finds the nodes of a graph that can reach themselves."""

    def __init__(self) -> None:
        self._onward: dict[Node, list[Node]] = {}

    def add(self, node: Node, onward: Node) -> None:
        self._onward.setdefault(node, []).append(onward)

    def found(self) -> list[Node]:
        """Targets of edges back to a node that is still being followed (depth first)."""
        back: list[Node] = []
        state: dict[Node, int] = {}
        for start in self._onward:
            stack = [(start, iter(self._onward.get(start, ())))] if start not in state else []
            state.setdefault(start, 1)
            while stack:
                node, rest = stack[-1]
                child = next(rest, None)
                if child is None:
                    state[node] = 2
                    stack.pop()
                elif child not in state:
                    state[child] = 1
                    stack.append((child, iter(self._onward.get(child, ()))))
                elif state[child] == 1:
                    back.append(child)
        return back
