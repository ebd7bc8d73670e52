"""The flags of one build of llama-server: names, values, variables, defaults."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

_CLOSE = 0.84  # below this a name is another one, not a misspelling


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `values` are the placeholders of what follows it, one for each value.

    `choices` are the only values allowed (empty: any); `listed`: several of them, with commas.
    `stub`: it is named only to say that it was removed. `optional`: its value may be left out.
    """

    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    listed: bool = False
    env: str | None = None
    default: str | None = None
    stub: bool = False
    optional: bool = False


def flag_of_head(
    head: str, env: str | None = None, *, default: str | None = None, about: str = ""
) -> Flag | None:
    """A flag from how `--help` heads it, such as `-c, --ctx-size N`; None if it is no head."""
    words = re.sub(r",\s+(?=-)", ", ", head.strip()).split(" ")
    names = []
    while words and re.fullmatch(r"--?[A-Za-z][\w.-]*,?", words[0]):
        names.append(words.pop(0).rstrip(","))
    if not names:
        return None
    rest = " ".join(words).strip()
    optional, rest = rest.endswith("]?"), rest.removesuffix("?")
    # blanks within brackets, as in `<tensor name pattern>=<buffer type>`, divide nothing
    values = re.sub(r"[<\[{][^>\]}]*[>\]}]", lambda match: match[0].replace(" ", "_"), rest).split()
    choices, listed = _choices(rest, about)
    return Flag(
        names=tuple(names),
        values=tuple(values),
        choices=choices,
        listed=listed,
        env=env,
        default=default,
        stub="argument has been removed" in about,
        optional=optional,
    )


def _choices(value: str, about: str) -> tuple[tuple[str, ...], bool]:
    allowed = re.search(r"allowed values: ([\w, ]+)", about)
    if allowed:
        return tuple(re.split(r",\s*", allowed[1].split(" (")[0].strip())), False
    if re.fullmatch(r"[a-z][a-z0-9-]*(?:,[a-z][a-z0-9-]*){2,}", value):
        return tuple(value.split(",")), True
    if re.fullmatch(r"[\[{<][a-z][a-z0-9_-]*(?:[|,][a-z0-9_-]+)+[\]}>]", value):
        return tuple(re.split(r"[|,]", value[1:-1])), False
    return (), False


class FlagTable:
    """All flags of a build. `complete`: what is not in it, the build does not know."""

    def __init__(self, flags: Iterable[Flag], *, title: str, complete: bool) -> None:
        self.flags = tuple(flags)
        self.title = title
        self.complete = complete

    @cached_property
    def _by_name(self) -> dict[str, Flag]:
        return {name: flag for flag in self.flags for name in flag.names}

    @cached_property
    def _by_env(self) -> dict[str, Flag]:
        return {flag.env: flag for flag in self.flags if flag.env}

    def find(self, name: str) -> Flag | None:
        """By any of its names, stubs included; `_` in long names counts as `-`, as in llama.cpp."""
        return self._by_name.get(canonical(name))

    def live(self, name: str) -> Flag | None:
        """By any of its names, if it is more than a stub."""
        flag = self.find(name)
        return None if flag is None or flag.stub else flag

    def of_variable(self, variable: str) -> Flag | None:
        """By its environment variable, stubs included."""
        return self._by_env.get(variable)

    def live_variable(self, variable: str) -> Flag | None:
        """By its environment variable, if it is more than a stub."""
        flag = self._by_env.get(variable)
        return None if flag is None or flag.stub else flag

    def first_live(self, names: Sequence[str]) -> str | None:
        """The first of these names that the build knows."""
        return next((name for name in names if self.live(name)), None)

    def first_live_variable(self, names: Sequence[str]) -> str | None:
        """The first of these variables that the build reads."""
        return next((name for name in names if self.live_variable(name)), None)

    def near(self, name: str) -> str | None:
        """A live name that is spelled much like this one."""
        live = [each for each, flag in self._by_name.items() if not flag.stub and len(each) > 3]
        return next(iter(difflib.get_close_matches(canonical(name), live, 1, _CLOSE)), None)

    def near_variable(self, name: str) -> str | None:
        """A variable that is spelled much like this one."""
        live = [each for each, flag in self._by_env.items() if not flag.stub]
        return next(iter(difflib.get_close_matches(name, live, 1, _CLOSE)), None)


def canonical(name: str) -> str:
    """As llama.cpp compares names: in long ones `_` is `-`."""
    return name.replace("_", "-") if name.startswith("--") else name
