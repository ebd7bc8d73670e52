"""What the model reads of a change: files worth reading, in groups, by a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from vedette.types import Json

from .areas import area_of
from .diff import File
from .excerpt import CountTokens, Excerpt, excerpt, shares
from .file_kinds import SOURCE, UNREAD_KINDS, is_changelog, kind_of_path, why_unread

LEAST_FILE_TOKENS = 60
"""A smaller share of a budget shows nothing of a file; fewer files are read instead."""

_WEIGHTS = {SOURCE: 4, "build": 2, "ci": 2, "docs": 2, "test": 1, **dict.fromkeys(UNREAD_KINDS, 0)}
"""Where a budget is short, source comes before documents, and tests come last."""


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are read together, and the areas that they belong to."""

    areas: tuple[str, ...]
    excerpts: tuple[Excerpt, ...]

    @property
    def n_tokens(self) -> int:
        """Tokens of `text`, near enough."""
        return sum(e.n_tokens + 1 for e in self.excerpts)

    @property
    def weight(self) -> int:
        """Changed lines; those of source count more than others."""
        return sum(e.file.changed * _WEIGHTS[kind_of_path(e.file.path)] for e in self.excerpts)

    @property
    def text(self) -> str:
        """What the model is shown; a change log first, which says what a change is for."""
        ordered = sorted(self.excerpts, key=lambda e: not is_changelog(e.file.path))
        return "\n\n".join(e.text for e in ordered)

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(e.file.added for e in self.excerpts)

    @property
    def removed(self) -> int:
        """Lines removed."""
        return sum(e.file.removed for e in self.excerpts)


@dataclass(frozen=True, slots=True)
class Reading:
    """A change, sorted: `groups` are read, `unread` are listed with the reason.

    `left_out` are the changed lines, by file, that the budget had no room for.
    """

    files: tuple[File, ...]
    groups: tuple[Group, ...]
    unread: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, int], ...]

    def as_json(self) -> dict[str, Json]:
        """What was read and what was not, for a result line."""
        return {
            "files": len(self.files),
            "added": sum(file.added for file in self.files),
            "removed": sum(file.removed for file in self.files),
            "unread": [{"path": path, "why": why} for path, why in self.unread],
            "left_out": [{"path": path, "lines": n} for path, n in self.left_out],
        }


def read_change(
    files: Sequence[File],
    count_tokens: CountTokens,
    *,
    budget_tokens: int,
    group_tokens: int,
    max_groups: int,
    together: bool,
) -> Reading:
    """Share `budget_tokens` among the files, and put files of an area together.

    A group has at most `group_tokens`; small areas share one where there would be more than
    `max_groups`. With `together`, all is one group where that holds it.
    """
    unread = [(file.path, why) for file in files if (why := why_unread(file)) is not None]
    names = {path for path, _ in unread}
    worth = sorted((file for file in files if file.path not in names), key=_rank)
    most = max(1, budget_tokens // LEAST_FILE_TOKENS)
    excerpts = _excerpts(worth[:most], count_tokens, budget_tokens, group_tokens)
    left_out = [(e.file.path, e.left_out) for e in excerpts if e.left_out]
    left_out += [(file.path, file.changed) for file in worth[most:]]
    groups = _by_area(excerpts, group_tokens)
    if together and sum(group.n_tokens for group in groups) <= group_tokens:
        groups = _merged(groups, group_tokens, 1)
    return Reading(
        files=tuple(files),
        groups=tuple(_merged(groups, group_tokens, max_groups)),
        unread=tuple(unread),
        left_out=tuple(left_out),
    )


def _rank(file: File) -> tuple[int, str, int]:
    """Source first, areas together, large changes before small ones."""
    weight = _WEIGHTS[kind_of_path(file.path)]
    return (-weight, area_of(file.path), -file.changed)


def _excerpts(
    files: Sequence[File], count_tokens: CountTokens, budget_tokens: int, group_tokens: int
) -> list[Excerpt]:
    most = min(budget_tokens, group_tokens)
    whole = [excerpt(file, most, count_tokens) for file in files]
    weights = [_WEIGHTS[kind_of_path(file.path)] for file in files]
    limits = shares([e.n_tokens for e in whole], weights, budget_tokens)
    return [
        e if e.n_tokens <= limit else excerpt(e.file, limit, count_tokens)
        for e, limit in zip(whole, limits, strict=True)
    ]


def _by_area(excerpts: Sequence[Excerpt], group_tokens: int) -> list[Group]:
    groups: list[Group] = []
    for area, members in groupby(excerpts, key=lambda e: area_of(e.file.path)):
        room = 0
        for member in members:
            if room < member.n_tokens:
                groups.append(Group((area,), ()))
                room = group_tokens
            groups[-1] = Group((area,), (*groups[-1].excerpts, member))
            room -= member.n_tokens + 1
    return groups


def _merged(groups: Sequence[Group], group_tokens: int, max_groups: int) -> list[Group]:
    """The smallest put together until there are `max_groups`, or no two fit in one."""
    found = list(groups)
    while len(found) > max_groups:
        small = sorted(range(len(found)), key=lambda i: found[i].n_tokens)[:2]
        first, second = sorted(small)
        one, other = found[first], found[second]
        if one.n_tokens + other.n_tokens > group_tokens:
            break
        areas = tuple(dict.fromkeys((*one.areas, *other.areas)))
        found[first] = Group(areas, (*one.excerpts, *other.excerpts))
        del found[second]
    return found
