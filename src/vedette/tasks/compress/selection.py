"""Which units are kept: the best that fit a budget of tokens, in the order of the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vedette.errors import BudgetTooSmall

from .split import Unit
from .words import negations, word_list, words

NEAR_DUPLICATE = 0.8  # the share of common words from which two units say the same
LEAST_WORDS_NEAR = 5  # shorter ones must be equal to count as duplicates
FILL_TRIES = 48

_BACK = frozenset(word_list("back"))
_BACK_UNSPACED = word_list("back_unspaced")

CountTokens = Callable[[str], int]
_ByWord = dict[str, list[tuple[frozenset[str], frozenset[str]]]]  # the words, and the negations


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that may be kept. `number` is its place among all units of the text."""

    number: int
    unit: Unit
    score: float


@dataclass(frozen=True, slots=True)
class Kept:
    """The result: the text, its exact tokens, the spans of the source, duplicates left out."""

    text: str
    tokens: int
    spans: tuple[tuple[int, int], ...]
    units: tuple[Unit, ...]
    n_duplicates: int


@dataclass(slots=True)
class _Chosen:
    """The units chosen so far, by number, and in what groups they came."""

    units: dict[int, Unit] = field(default_factory=dict)
    groups: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, group: Sequence[Candidate]) -> None:
        new = [one for one in group if one.number not in self.units]
        self.units.update((one.number, one.unit) for one in new)
        self.groups.append(tuple(one.number for one in new))

    def drop_last(self) -> None:
        for number in self.groups.pop():
            del self.units[number]


def select(
    text: str,
    candidates: Sequence[Candidate],
    count_tokens: CountTokens,
    budget: int,
    unit: str = "tokens",
) -> Kept:
    """The best candidates whose joined text has at most `budget` tokens, counted as a whole.

    A unit that begins by pointing back ("It ...", "但...") brings the one before it along, where
    that is a candidate of the same block. Raises `BudgetTooSmall` when not one unit fits.
    """
    ranked = sorted(candidates, key=lambda one: (-one.score, one.number))
    ranked, n_duplicates = _without_duplicates(text, ranked)
    by_number = {one.number: one for one in ranked}
    costs = {one.number: count_tokens(_alone(text, one.unit)) + 1 for one in ranked}
    chosen = _Chosen()
    taken = 0
    for one in ranked:
        if one.number in chosen.units:
            continue
        group = _group(text, one, by_number)
        cost = sum(costs[each.number] for each in group if each.number not in chosen.units)
        if taken + cost <= budget:
            chosen.add(group)
            taken += cost
    tokens = count_tokens(render(text, chosen.units)[0])
    while tokens > budget:
        chosen.drop_last()
        tokens = count_tokens(render(text, chosen.units)[0])
    _fill(text, ranked, costs, chosen, count_tokens, budget)
    _drop_bare_headings(text, chosen.units)
    rendered, spans = render(text, chosen.units)
    if not rendered and ranked:
        least = min(count_tokens(_alone(text, one.unit)) for one in ranked)
        raise BudgetTooSmall(
            f"a budget of {budget} {unit} holds no sentence of the text; the shortest has {least}"
        )
    units = tuple(chosen.units[number] for number in sorted(chosen.units))
    return Kept(rendered, count_tokens(rendered), spans, units, n_duplicates)


def _fill(
    text: str,
    ranked: Sequence[Candidate],
    costs: dict[int, int],
    chosen: _Chosen,
    count_tokens: CountTokens,
    budget: int,
) -> None:
    """Add what still fits, best first. The sum of the parts overestimates the whole a little."""
    tokens = count_tokens(render(text, chosen.units)[0])
    tries = FILL_TRIES
    for one in ranked:
        if tries == 0:
            return
        if one.number in chosen.units or costs[one.number] > budget - tokens + 2:
            continue
        tries -= 1
        chosen.add([one])
        now = count_tokens(render(text, chosen.units)[0])
        if now > budget:
            chosen.drop_last()
        else:
            tokens = now


def _drop_bare_headings(text: str, units: dict[int, Unit]) -> None:
    """A heading of which nothing was kept says nothing, unless there are only headings."""
    if all(unit.kind == "heading" for unit in units.values()):
        return
    following: Unit | None = None
    for number in sorted(units, reverse=True):
        unit = units[number]
        if unit.kind != "heading" or (following and _is_under(text, following, unit)):
            following = unit
        else:
            del units[number]


def _is_under(text: str, unit: Unit, heading: Unit) -> bool:
    return unit.kind != "heading" or _level(text, unit) > _level(text, heading)


def _level(text: str, heading: Unit) -> int:
    said = text[heading.start : heading.end].lstrip()
    return len(said) - len(said.lstrip("#"))


def _group(text: str, one: Candidate, by_number: dict[int, Candidate]) -> list[Candidate]:
    before = by_number.get(one.number - 1)
    if before is None or before.unit.block != one.unit.block or not _points_back(text, one.unit):
        return [one]
    return [before, one]


def _points_back(text: str, unit: Unit) -> bool:
    start = text[unit.start : unit.end].lstrip("\"'“‘(")
    if start.startswith(_BACK_UNSPACED):
        return True
    first = start.split(maxsplit=1)[0] if start.strip() else ""
    return first.rstrip(",").partition("'")[0].partition("’")[0].casefold() in _BACK


def _without_duplicates(text: str, ranked: Sequence[Candidate]) -> tuple[list[Candidate], int]:
    """Each thing once, in the wording that ranks best; numbers make a difference."""
    kept: list[Candidate] = []
    exact: set[str] = set()
    by_word: _ByWord = {}
    for one in ranked:
        said = text[one.unit.start : one.unit.end]
        plain = "".join(letter for letter in said.casefold() if letter.isalnum()) or said
        bag, negated = frozenset(words(said)), negations(said)
        if plain in exact or _is_near(bag, negated, by_word):
            continue
        exact.add(plain)
        if len(bag) >= LEAST_WORDS_NEAR:
            for word in bag:
                by_word.setdefault(word, []).append((bag, negated))
        kept.append(one)
    return kept, len(ranked) - len(kept)


def _is_near(bag: frozenset[str], negated: frozenset[str], by_word: _ByWord) -> bool:
    if len(bag) < LEAST_WORDS_NEAR:
        return False
    # A near duplicate lacks a fifth of these words at most, so looking under that many and one more
    # finds every one of them; the words with the shortest lists are looked under.
    n_looked = len(bag) // 5 + 1
    looked = sorted(bag, key=lambda word: len(by_word.get(word, ())))[:n_looked]
    return any(
        len(bag & other) >= NEAR_DUPLICATE * len(bag | other)
        and not _has_digit(bag ^ other)
        and negated == other_negated
        for word in looked
        for other, other_negated in by_word.get(word, ())
    )


def _has_digit(bag: frozenset[str]) -> bool:
    return any(letter.isdigit() for word in bag for letter in word)


def _alone(text: str, unit: Unit) -> str:
    """A unit as it is written when nothing of its block stands before it."""
    said = text[unit.start : unit.end]
    start, end = unit.label
    return said if unit.is_first or start == end else f"{text[start:end].rstrip()} {said}"


def render(text: str, units: dict[int, Unit]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The units joined in order, and their spans; what stands side by side is one span."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    last: Unit | None = None
    last_number = -2
    for number in sorted(units):
        unit = units[number]
        gap = text[last.end : unit.start] if last and number == last_number + 1 else None
        if gap is not None and len(gap) <= 2 and not gap.strip():
            parts.append(gap)
            spans[-1] = (spans[-1][0], unit.end)
        else:
            if last is not None:
                parts.append(" " if last.block == unit.block and unit.kind != "code" else "\n")
            start, end = unit.label
            if not unit.is_first and start < end and (last is None or last.block != unit.block):
                label = text[start:end].rstrip()
                parts.append(f"{label} ")
                spans.append((start, start + len(label)))
            spans.append((unit.start, unit.end))
        parts.append(text[unit.start : unit.end])
        last, last_number = unit, number
    return "".join(parts), tuple(spans)
