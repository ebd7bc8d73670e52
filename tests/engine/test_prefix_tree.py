"""The radix tree answers as a plain list of token lists would."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from vedette.engine.prefix import Match, PrefixTree

# Three different tokens and short lists: long common prefixes are the rule.
tokens_lists = st.lists(st.integers(0, 2), max_size=12)
owners = st.integers(0, 8)


def common(a: list[int], b: list[int]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


class TreeAgainstList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.tree = PrefixTree()
        self.model: dict[int, list[int]] = {}

    @rule(owner=owners, tokens=tokens_lists)
    def insert(self, owner: int, tokens: list[int]) -> None:
        self.tree.insert(owner, tokens)
        self.model[owner] = tokens

    @rule(owner=owners, base=owners, more=tokens_lists)
    def insert_a_longer_one(self, owner: int, base: int, more: list[int]) -> None:
        self.insert(owner, [*self.model.get(base, []), *more])

    @rule(owner=owners)
    def remove(self, owner: int) -> None:
        if owner in self.model:
            self.tree.remove(owner)
            del self.model[owner]

    @rule(tokens=tokens_lists)
    def longest(self, tokens: list[int]) -> None:
        best = max((common(held, tokens) for held in self.model.values()), default=0)
        match = self.tree.longest(tokens)
        if best == 0:
            assert match is None
        else:
            assert match is not None
            assert match.n_tokens == best == common(self.model[match.owner], tokens)

    @rule(tokens=tokens_lists)
    def longest_whole(self, tokens: list[int]) -> None:
        whole = [held for held in self.model.values() if held and held == tokens[: len(held)]]
        match = self.tree.longest_whole(tokens)
        if not whole:
            assert match is None
        else:
            assert match is not None
            assert match.n_tokens == max(map(len, whole))
            assert self.model[match.owner] == tokens[: match.n_tokens]

    @invariant()
    def has_the_same_owners(self) -> None:
        assert len(self.tree) == len(self.model)
        assert all(owner in self.tree for owner in self.model)

    @invariant()
    def every_owner_finds_itself(self) -> None:
        for held in filter(None, self.model.values()):
            assert self.tree.longest(held).n_tokens == len(held)
            assert self.tree.longest_whole(held).n_tokens == len(held)

    @invariant()
    def each_node_has_an_owner_that_passes_through_it(self) -> None:
        roots = self.tree._roots.values()
        nodes = [child for root in roots for child in root.children.values()]
        while nodes:
            node = nodes.pop()
            assert node.edge
            assert node.through >= node.ends
            assert node.through == set().union(
                node.ends, *(child.through for child in node.children.values())
            )
            assert node.through
            nodes.extend(node.children.values())


TestTreeAgainstList = TreeAgainstList.TestCase
TestTreeAgainstList.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_an_empty_tree_has_no_match() -> None:
    tree = PrefixTree()
    assert tree.longest([1, 2]) is None
    assert tree.longest_whole([1, 2]) is None


def test_an_owner_that_comes_again_is_replaced() -> None:
    tree = PrefixTree()
    tree.insert(1, [1, 2, 3])
    tree.insert(1, [4, 5])
    assert len(tree) == 1
    assert tree.longest([1, 2, 3]) is None
    assert tree.longest([4, 5, 6]) == Match(1, 2)
