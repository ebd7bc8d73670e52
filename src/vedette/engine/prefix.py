"""Which tokens are in the cache already: a radix tree over the sequences that hold them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Node:
    edge: list[int]
    children: dict[int, _Node] = field(default_factory=dict)
    through: set[int] = field(default_factory=set)  # owners whose tokens reach this node's end
    ends: set[int] = field(default_factory=set)  # owners whose tokens stop exactly here


@dataclass(frozen=True, slots=True)
class Match:
    """An owner (a sequence id) and how many leading tokens it has in common with the asked ones."""

    owner: int
    n_tokens: int


class PrefixTree:
    """Owners by their token ids. Each owner is one path from the root of its space.

    Spaces have nothing in common: the same tokens in two of them are not the same cells.
    Knows nothing of memory: whoever inserts an owner promises that its tokens are in the cache,
    and removes it before they are not.
    """

    def __init__(self) -> None:
        self._roots: dict[Hashable, _Node] = {}
        self._tokens: dict[int, list[int]] = {}
        self._spaces: dict[int, Hashable] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, owner: int) -> bool:
        return owner in self._tokens

    def tokens_of(self, owner: int) -> list[int]:
        """The tokens of an owner; none for one that is not there."""
        return self._tokens.get(owner, [])

    def insert(self, owner: int, tokens: Sequence[int], space: Hashable = None) -> None:
        """Add an owner; one that was there is replaced."""
        if owner in self._tokens:
            self.remove(owner)
        self._tokens[owner] = list(tokens)
        self._spaces[owner] = space
        node, rest = self._roots.setdefault(space, _Node([])), list(tokens)
        while rest:
            child = node.children.get(rest[0])
            if child is None:
                child = node.children[rest[0]] = _Node(rest)
            common = n_common(child.edge, rest)
            if common < len(child.edge):
                child = self._split(node, child, common)
            child.through.add(owner)
            node, rest = child, rest[common:]
        node.ends.add(owner)

    def _split(self, parent: _Node, child: _Node, at: int) -> _Node:
        """Cut the child's edge, so that a node ends at `at`; returns that upper node."""
        upper = _Node(child.edge[:at], {child.edge[at]: child}, set(child.through))
        child.edge = child.edge[at:]
        parent.children[upper.edge[0]] = upper
        return upper

    def remove(self, owner: int) -> None:
        """Take an owner out. Raises KeyError for one that is not there."""
        rest = self._tokens.pop(owner)
        space = self._spaces.pop(owner)
        node = self._roots[space]
        if space not in self._spaces.values():
            del self._roots[space]
            return
        while rest:
            child = node.children[rest[0]]
            child.through.discard(owner)
            rest = rest[len(child.edge) :]
            if not child.through:  # nobody else passes: the whole branch goes
                del node.children[child.edge[0]]
                return
            node = child
        node.ends.discard(owner)

    def longest(self, tokens: Sequence[int], space: Hashable = None) -> Match | None:
        """The owner that shares the longest prefix with `tokens`, wherever its own tokens go on."""
        node, rest, n = self._roots.get(space, _Node([])), list(tokens), 0
        best: Match | None = None
        while rest and (child := node.children.get(rest[0])):
            common = n_common(child.edge, rest)
            n += common
            best = Match(max(child.through), n)
            if common < len(child.edge):
                break
            node, rest = child, rest[common:]
        return best

    def longest_whole(self, tokens: Sequence[int], space: Hashable = None) -> Match | None:
        """The longest owner that is, as a whole, a prefix of `tokens`."""
        node, rest, n = self._roots.get(space, _Node([])), list(tokens), 0
        best: Match | None = None
        while rest and (child := node.children.get(rest[0])):
            if rest[: len(child.edge)] != child.edge:
                break
            n += len(child.edge)
            if child.ends:
                best = Match(max(child.ends), n)
            node, rest = child, rest[len(child.edge) :]
        return best

    def holders_of(self, tokens: Sequence[int], space: Hashable = None) -> set[int]:
        """The owners of exactly these tokens."""
        node, rest = self._roots.get(space, _Node([])), list(tokens)
        while rest and (child := node.children.get(rest[0])):
            if rest[: len(child.edge)] != child.edge:
                break
            node, rest = child, rest[len(child.edge) :]
        return set() if rest else node.ends


def n_common(a: list[int], b: list[int]) -> int:
    """Length of the common prefix of two lists."""
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    low, high = 0, limit  # a[:low] equal, a[:high] not
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
