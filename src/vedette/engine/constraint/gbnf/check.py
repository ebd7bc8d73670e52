"""What is wrong with a grammar that is well written.

Left recursion is what llama.cpp calls so: a rule that can come back to itself before anything
stands to its left, where only what is written as empty (`""`, an optional item, an alternative
left blank) is looked past. It also takes the repetition of an optional item (`"a"?*`) for left
recursion; that is not refused here, as its meaning is plain.
"""

from __future__ import annotations

from collections.abc import Iterator

from vedette.errors import InputError

from .ast import (
    Alternatives,
    AnyChar,
    CharClass,
    Grammar,
    Item,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenRef,
)
from .chars import chars_of, is_text

START = "root"


def check(grammar: Grammar) -> None:
    """Raise `InputError` for a grammar that cannot be followed to an end."""
    if START not in grammar.rules:
        raise InputError(f"the grammar has no rule {START!r}", hint="the answer starts with it")
    for item in grammar.items():
        if isinstance(item, RuleRef) and item.name not in grammar.rules:
            raise InputError(f"the grammar, {item.place}: there is no rule {item.name!r}")
        if isinstance(item, Literal | CharClass):
            _check_possible(item)
    _check_left_recursion(grammar)
    _check_ends(grammar)


def _check_possible(item: Literal | CharClass) -> None:
    if isinstance(item, CharClass):
        if not chars_of(item):
            raise InputError(
                f"the grammar, {item.place}: no character is in this class",
                hint=r"a range goes from the lower character to the higher; a minus itself is \-",
            )
        return
    for code_point in item.code_points:
        if not is_text(code_point):
            raise InputError(
                f"the grammar, {item.place}: no text holds U+{code_point:04X}",
                hint=r"write a character beyond U+FFFF as \U and eight digits, not as two halves",
            )


def _check_left_recursion(grammar: Grammar) -> None:
    blank = {
        name
        for name, rule in grammar.rules.items()
        if any(_is_blank(option) for option in rule.body.options)
    }
    corners = {
        name: tuple(dict.fromkeys(_left_corners(rule.body, blank)))
        for name, rule in grammar.rules.items()
    }
    done: set[str] = set()
    for start in corners:
        path: dict[str, Iterator[str]] = {} if start in done else {start: iter(corners[start])}
        while path:
            name = next(reversed(path))
            following = next(path[name], None)
            if following is None:
                done.add(name)
                del path[name]
            elif following in path:
                names = list(path)
                cycle = [*names[names.index(following) :], following]
                raise InputError(
                    f"the grammar, {grammar.rules[following].place}: left recursion: "
                    + " -> ".join(cycle),
                    hint='write a list as item (separator item)*, not as list "," item',
                )
            elif following not in done:
                path[following] = iter(corners[following])


def _is_blank(sequence: Sequence) -> bool:
    """Whether nothing at all is written here."""
    return all(
        (isinstance(item, Literal) and not item.code_points)
        or (isinstance(item, Repeat) and item.max == 0)
        for item in sequence.items
    )


def _left_corners(item: Item, blank: set[str]) -> Iterator[str]:
    """Names of the rules that can stand leftmost in the item."""
    if isinstance(item, RuleRef):
        yield item.name
    elif isinstance(item, Repeat) and item.max != 0:
        yield from _left_corners(item.item, blank)
    elif isinstance(item, Alternatives):
        for option in item.options:
            for part in option.items:
                yield from _left_corners(part, blank)
                if not _is_looked_past(part, blank):
                    break


def _is_looked_past(item: Item, blank: set[str]) -> bool:
    match item:
        case Literal(code_points):
            return not code_points
        case RuleRef(name):
            return name in blank
        case Repeat(inner, low, _):
            return low == 0 or _is_looked_past(inner, blank)
        case Alternatives(options):
            return any(_is_blank(option) for option in options)
        case CharClass() | AnyChar() | TokenRef():
            return False


def _check_ends(grammar: Grammar) -> None:
    """Every rule must have an alternative that does not lead back to it for ever."""
    ending: set[str] = set()
    waiting = list(grammar.rules.values())
    progress = True
    while progress:
        before = len(waiting)
        for rule in reversed(waiting):  # most grammars are written from the top down
            if _can_end(rule.body, ending):
                ending.add(rule.name)
        waiting = [rule for rule in waiting if rule.name not in ending]
        progress = len(waiting) < before
    if waiting:
        rule = waiting[0]
        raise InputError(
            f"the grammar, {rule.place}: the rule {rule.name!r} can never end",
            hint="each of its alternatives leads back into it",
        )


def _can_end(item: Item, ending: set[str]) -> bool:
    match item:
        case RuleRef(name):
            return name in ending
        case Repeat(inner, low, _):
            return low == 0 or _can_end(inner, ending)
        case Alternatives(options):
            return any(all(_can_end(part, ending) for part in o.items) for o in options)
        case Literal() | CharClass() | AnyChar() | TokenRef():
            return True
