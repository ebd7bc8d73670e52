"""A node, taken apart into cases without open choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .case import Case, Unevaluated
from .dialect import Path
from .facts import ANY, Assume, Choice, Elements, Fact, Keyword, Members, Only, is_never, node
from .fails import ways_to_fail
from .here import Here
from .holds import MAX_CASES, take
from .refs import Bundle
from .report import refused

_MAX_RETRIES = 16
# Assumptions that may be taken over a whole schema before its choices are left out.
_WORK = 2_000
_WORK_PER_SUBSCHEMA = 4
_REFUSED_AT = 3  # so many times that, and the schema is refused


class _TooMany(Exception):
    def __init__(self, source: Keyword) -> None:
        self.source = source


class Expander:
    """Takes nodes of one bundle apart.

    `overlapping(path, others)` tells which alternatives of a `oneOf` may hold with the first.
    """

    def __init__(
        self, bundle: Bundle, overlapping: Callable[[Path, list[Path]], list[Path]]
    ) -> None:
        self._bundle = bundle
        self._overlapping = overlapping
        self._work = 0
        self._limit = _WORK + _WORK_PER_SUBSCHEMA * sum(1 for _ in bundle.paths())

    def cases(self, ordered: Sequence[Assume]) -> list[Case]:
        """All ways in which a value can belong to the node.

        A choice that would give more than `MAX_CASES` is left out, and a fact says so. Raises
        `SchemaRefused` for a schema that takes too much work.
        """
        left_out: set[Keyword] = set()
        for _ in range(_MAX_RETRIES):
            if self.tired:
                break
            try:
                return self._cases(ordered, left_out)
            except _TooMany as error:
                left_out.add(error.source)
        return self._cases(ordered, None)

    @property
    def tired(self) -> bool:
        """So much work has been done that choices are left out from now on."""
        return self._work > self._limit

    def _cases(self, ordered: Sequence[Assume], left_out: set[Keyword] | None) -> list[Case]:
        start = Case()
        for step in ordered:
            self.assume(start, step)
        done: list[Case] = []
        open_cases = [start]
        while open_cases:
            case = open_cases.pop()
            if not case.kinds:
                continue
            if case.values is not None or not case.choices:
                done.append(self._complete(case))
                continue
            choice = case.choices.pop(0)
            if left_out is None or choice.source in left_out:
                why = "it would take too many cases"
                case.facts.append(Fact(None, "dropped", why, choice.source))
                open_cases.append(case)
                continue
            if len(done) + len(open_cases) + len(choice.ways) > MAX_CASES:
                raise _TooMany(choice.source)
            open_cases += reversed(self._branches(case, choice))
        return done

    def _branches(self, case: Case, choice: Choice) -> list[Case]:
        branches: list[Case] = []
        for way in choice.ways:
            branch = case.copy()
            self._apply(branch, way)
            branches.append(branch)
        return branches

    def _apply(self, case: Case, way: Sequence[Assume | Only | Fact]) -> None:
        for step in way:
            if isinstance(step, Only):
                case.kinds &= step.kinds
            elif isinstance(step, Fact):
                case.facts.append(step)
            elif case.kinds:
                self.assume(case, step)

    def assume(self, case: Case, step: Assume) -> None:
        """Add an assumption and all that follows from it without a choice."""
        path, holds = step.signed
        before = case.assumed.get(step.signed)
        if before is not None and step.scopes <= before:
            return
        case.assumed[step.signed] = (before or frozenset()) | step.scopes
        self._work += 1
        if self._work > _REFUSED_AT * self._limit:
            raise refused(
                "the schema is too involved: its alternatives multiply beyond what can be analysed",
                hint="tell alternatives apart by a constant, or nest them less",
            )
        schema = False if is_never(path) else self._bundle.at(path)
        if isinstance(schema, bool):
            if schema != holds:
                case.kinds = frozenset()
            return
        here = Here(case, path, schema, step.scopes, step.causes, self.assume, self._overlapping)
        if holds:
            take(here)
            return
        ways = ways_to_fail(here)
        if len(ways) == 1:
            self._apply(case, ways[0])
        elif ways:
            source = step.causes[-1] if step.causes else Keyword(path, next(iter(schema)))
            case.choices.append(Choice(source, tuple(ways)))
        else:
            case.kinds = frozenset()

    def _complete(self, case: Case) -> Case:
        """The case with what its `unevaluated*` keywords say, now that all is evaluated."""
        for waiting in reversed(case.unevaluated):  # inner ones count as seen by outer ones
            case.facts.append(_unevaluated_fact(case, waiting))
            for outer in waiting.outer:
                seen = case.seen[outer]
                if waiting.scope[1] == "object":
                    seen.all_members = True
                else:
                    seen.all_elements = True
        case.unevaluated = []
        return case


def _unevaluated_fact(case: Case, waiting: Unevaluated) -> Fact:
    seen, kind = case.seen[waiting.scope], waiting.scope[1]
    if seen.unclear:
        why = "what has been evaluated depends on the value"
        return Fact(kind, "dropped", why, waiting.source)
    rest = node((*waiting.source.path, waiting.source.name))
    if kind == "object":
        names, patterns = dict.fromkeys(seen.names, ANY), dict.fromkeys(seen.patterns, ANY)
        members = Members(names, patterns, ANY if seen.all_members else rest)
        return Fact(kind, "members", members, waiting.source)
    elements = Elements((ANY,) * seen.first_elements, ANY if seen.all_elements else rest)
    return Fact(kind, "elements", elements, waiting.source)
