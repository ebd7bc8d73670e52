"""A sheet on which rules of a grammar are written."""

from __future__ import annotations

from .bits import all_of

# The engine's optimiser puts other rules in the place of a rule with one alternative, and gives up
# where that is used with a parameter of its own. So such a rule gets two alternatives that
# exclude each other and say the same.
_HALVES = ("bit_clear(0)", "bit_set(0)")


SAME = "same::_"
"""Says nothing. Stands in an alternative that hands on constants only, which would not be taken
for one with a parameter otherwise."""


class Rules:
    """Rules in the order in which they were first named, each with its alternatives."""

    def __init__(self) -> None:
        self._alternatives: dict[str, dict[str, None]] = {}
        self._lines: list[str] = []
        self.add(SAME, '""')

    def add(self, rule: str, body: str, condition: str = "") -> None:
        """One more alternative for a rule (`name`, or `name::_` if it has a parameter)."""
        alternative = f"{body} %if {condition}" if condition else body
        self._alternatives.setdefault(rule, {})[alternative] = None

    def line(self, text: str) -> None:
        """A rule as it is, such as a terminal."""
        self._lines.append(text)

    def __contains__(self, rule: str) -> bool:
        return rule in self._alternatives

    def __str__(self) -> str:
        written = []
        for rule, alternatives in self._alternatives.items():
            bodies = [*alternatives]
            if rule.endswith("::_") and len(bodies) == 1:
                body, _, condition = bodies[0].partition(" %if ")
                bodies = [f"{body} %if {all_of(half, condition)}" for half in _HALVES]
            written.append(f"{rule}: " + "\n  | ".join(bodies))
        return "\n".join([*written, *self._lines]) + "\n"
