"""Which runs of characters a lexer may take as one terminal without changing the language.

llama.cpp has no lexer: it follows every reading of the text, character by character. llguidance
has one: it takes the longest text that any terminal allowed at this place can match, and never
goes back. With single characters as terminals both are the same, but a mask inside a free string
then costs a hundred times as much. So runs are merged into terminals where this is proved to
change nothing: at no state that a text can lead to may the same character both continue a
terminal and begin the next one. A run that breaks this is taken apart and the rest looked at
again, in the worst case down to single characters, for which it always holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from vedette.errors import InputError

from .ast import AnyChar, CharClass, Grammar, Literal, TokenRef
from .chars import Alphabet, Ranges, chars_of
from .flat import FlatGrammar, Run, flatten
from .pieces import Pieces
from .positions import Positions, TooLarge

MAX_POSITIONS = 40_000
MAX_STEPS = 250_000
"""Work up to which a grammar is looked into; beyond it, it is taken character by character."""

FIRST_STEPS = 20_000
"""Work after which what is broken is first taken apart before more is looked for."""

Spelling = Callable[[int], "str | None"]
"""The text of a token by its id, '' if its bytes are none; None if no text can spell it."""


def choose_terminals(grammar: Grammar, pieces: Pieces, spelling: Spelling) -> FlatGrammar:
    """The grammar over the largest terminals that leave its language as it is.

    Raises `InputError` where a token literal stands beside text that the same token may spell:
    llguidance would follow only one of the two readings.
    """
    alphabet = Alphabet(_sets(grammar))
    for shared in (False, True):
        try:
            return _choose(grammar, pieces, alphabet, spelling, shared)
        except TooLarge:
            continue
    if any(isinstance(item, TokenRef) for item in grammar.items()):
        raise InputError(
            "the grammar is too large to be used with token literals",
            hint="write what the tokens spell instead",
        )
    return flatten(grammar, pieces, lambda _run: True)


def _choose(
    grammar: Grammar, pieces: Pieces, alphabet: Alphabet, spelling: Spelling, shared: bool
) -> FlatGrammar:
    split: set[Run] = set()
    steps = 0
    while True:
        flat = flatten(grammar, pieces, split.__contains__)
        positions = Positions(flat, pieces, alphabet, MAX_POSITIONS, shared=shared)
        survey = _Survey(positions, alphabet, spelling, MAX_STEPS - steps)
        if not survey.broken:
            _refuse(survey.ambiguous)
            return flat
        split.update(positions.runs[place] for place in survey.broken)
        steps += survey.steps


def _sets(grammar: Grammar) -> Iterable[Ranges]:
    for item in grammar.items():
        if isinstance(item, CharClass | AnyChar):
            yield chars_of(item)
        elif isinstance(item, Literal):
            yield from (((c, c),) for c in item.code_points)


def _refuse(ambiguous: TokenRef | None) -> None:
    if ambiguous is not None:
        raise InputError(
            f"the grammar, {ambiguous.place}: here the same token can be read both as this token "
            "literal and as the text that it spells",
            hint="write text on both sides, or a token that no text can spell",
        )


class _Survey:
    """Visits every state that a text can lead to: the set of positions that it may have reached.

    `broken`: places whose terminal must be taken apart; `ambiguous`: a token literal that text
    may spell. Raises `TooLarge` beyond `most_steps`.
    """

    def __init__(
        self, positions: Positions, alphabet: Alphabet, spelling: Spelling, most_steps: int
    ) -> None:
        self._positions = positions
        self._alphabet = alphabet
        self._spelling = spelling
        self._most_steps = most_steps
        self.steps = 0
        self.broken: set[int] = set()
        self.ambiguous: TokenRef | None = None
        seen = {frozenset((0,))}
        waiting = [*seen]
        while waiting and not (self.broken and self.steps > FIRST_STEPS):
            for state in self._leave(waiting.pop()):
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)

    def _leave(self, state: frozenset[int]) -> list[frozenset[int]]:
        """The states one character or token further; notes what is wrong on the way."""
        known = self._positions.all
        inner = {target for position in state for target in known[position].inner}
        begun = self._positions.outer(state)
        self._work(len(state) + sum(map(len, begun)))
        outer = set().union(*begun)
        tokens = [target for target in outer if known[target].token is not None]
        outer.difference_update(tokens)
        by_mask: dict[int, set[int]] = {}
        for target in inner | outer:
            by_mask.setdefault(known[target].mask, set()).add(target)
        self._work(len(inner) + len(outer) + len(tokens) + len(by_mask) ** 2)

        beginning = _union(known[target].mask for target in outer)
        continuing = _union(known[target].mask for target in inner)
        if beginning & continuing:
            self.broken.update(known[t].place for t in inner if known[t].mask & beginning)
        self._find_uncountable(inner | outer)
        return [*self._split(by_mask), *self._tokens(tokens, beginning | continuing)]

    def _find_uncountable(self, targets: set[int]) -> None:
        """Counting is cheap only where one count is kept: with one way through the terminal."""
        known = self._positions.all
        counted = [t for t in targets if known[t].place in self._positions.uncounted]
        self._work(len(counted) ** 2)
        for left, right in combinations(counted, 2):
            a, b = known[left], known[right]
            if a.place == b.place and a.mask & b.mask:
                self.broken.add(a.place)

    def _split(self, by_mask: dict[int, set[int]]) -> list[frozenset[int]]:
        """The states that the next character can lead to, one for each set of targets."""
        cells: list[tuple[int, frozenset[int]]] = []
        for mask, targets in by_mask.items():
            rest, parted = mask, []
            for cell, held in cells:
                if cell & mask:
                    parted.append((cell & mask, held | targets))
                if cell & ~mask:
                    parted.append((cell & ~mask, held))
                rest &= ~cell
            if rest:
                parted.append((rest, frozenset(targets)))
            cells = parted
            self._work(len(cells))
        return list({held for _, held in cells})

    def _tokens(self, targets: list[int], text: int) -> list[frozenset[int]]:
        """The states that token literals lead to; they are alike or apart, never overlapping."""
        alike: dict[TokenRef, set[int]] = {}
        for target in targets:
            ref = self._positions.all[target].token
            assert ref is not None
            alike.setdefault(ref, set()).add(target)
            if self._mask(ref) & text:
                self.ambiguous = self.ambiguous or ref
        return [frozenset(same) for same in alike.values()]

    def _mask(self, ref: TokenRef) -> int:
        """The characters with which a text that the token spells may begin."""
        if ref.negated:
            return -1
        assert isinstance(ref.token, int)
        text = self._spelling(ref.token)
        if text is None:
            return 0
        return self._alphabet.mask_of(ord(text[0])) if text else -1

    def _work(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._most_steps:
            raise TooLarge


def _union(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result
