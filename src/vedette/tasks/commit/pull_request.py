"""A diff to the text of a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from vedette.backends.base import Backend
from vedette.tasks.base import Steps
from vedette.types import Answer, Item, Json, Usage

from .areas import area_of
from .diff import SAMPLE, File, parse_diff
from .excerpt import headline
from .file_kinds import kind_of_path
from .line import Line
from .names import KnownNames
from .pull_request_text import markdown_of
from .reading import Group, read_change
from .wording import Wording

MAX_AREAS = 12

# How tests are written in the usual frameworks; what follows is the test's name.
_TEST = re.compile(
    r"""^[+-]\s*(?:
        (?:async\s+)?def\s+(test_\w+)
      | func\s+(Test\w+)
      | (?:async\s+)?fn\s+(\w*test\w*)
      | (?:it|test|describe|specify)(?:\.\w+)?\(\s*["'`]([^"'`]+)["'`]
      | (?:public\s+)?(?:async\s+)?(?:void|Task)\s+(\w*[Tt]est\w*)\s*\(
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class WritePullRequest:
    """Implements `Task`: title and description of a pull request for each diff.

    The value has `title`; `summary`, a line for each part of the change with its areas; `files` by
    area with their lines; `tests`, the tests that were added and taken away, as the diff has them;
    `type`, `read` and `changes` as `WriteCommit` says; and `markdown`, all of it as a text. Raises
    `InputError` for a text that is no diff.
    """

    wording: Wording = field(default_factory=lambda: Wording(style="plain"))
    name: str = field(default="pr", init=False)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return self.wording.identity

    @property
    def sample_text(self) -> str:
        """See `TakesForm`."""
        return SAMPLE

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        self.wording.check(backend)
        if not item.text.strip():
            return Answer(value=None, extra={"empty": True})
        files = parse_diff(item.text)
        names = KnownNames.of_files(files)
        reading = read_change(
            files,
            backend.count_tokens,
            budget_tokens=self.wording.max_read_tokens,
            group_tokens=self.wording.group_tokens(backend),
            max_groups=MAX_AREAS,
            together=False,
        )
        notes: list[Line] = []
        usage = Usage()
        if reading.groups:
            notes, usage = yield from self.wording.notes(reading.groups, names)
        header, _, line, spent = yield from self.wording.header(reading, names, backend)
        summary, dropped = _summary(reading.groups, notes)
        value: dict[str, Json] = {
            "title": str(header),
            "type": header.type,
            "summary": summary,
            "files": _by_area(files),
            "tests": _tests(files),
            "read": reading.as_json(),
            "changes": [
                *(f"title: {change}" for change in line.changes),
                *(f"summary: {change}" for change in dropped),
            ],
        }
        return Answer(value={**value, "markdown": markdown_of(value)}, usage=usage + spent)


def _summary(groups: Sequence[Group], notes: Sequence[Line]) -> tuple[list[Json], list[str]]:
    """A line for each group; where none could be had, its files and their lines."""
    summary: list[Json] = []
    changes: list[str] = []
    for group, note in zip(groups, notes, strict=True):
        changes += note.changes
        text = note.text
        if text is None:
            text = "; ".join(headline(excerpt.file) for excerpt in group.excerpts)
            changes.append(f"{', '.join(group.areas)}: the files instead of words")
        entry: Json = {"areas": [*group.areas], "text": text}
        if entry not in summary:
            summary.append(entry)
    return summary, changes


def _by_area(files: Sequence[File]) -> list[Json]:
    areas: dict[str, list[File]] = {}
    for file in files:
        areas.setdefault(area_of(file.path), []).append(file)
    return [
        {"area": area, "files": [_file(file) for file in members]}
        for area, members in sorted(areas.items())
    ]


def _file(file: File) -> dict[str, Json]:
    was: dict[str, Json] = {"old_path": file.old_path} if file.old_path else {}
    return {
        "path": file.path,
        "status": file.status,
        **was,
        "added": file.added,
        "removed": file.removed,
        "headline": headline(file),
    }


def _tests(files: Sequence[File]) -> list[Json]:
    """For each changed test file, the tests whose first line was added or taken away."""
    found: list[Json] = []
    for file in files:
        if kind_of_path(file.path) != "test":
            continue
        names: dict[str, list[str]] = {"+": [], "-": []}
        for hunk in file.hunks:
            for line in hunk.lines:
                if match := _TEST.match(line):
                    names[line[0]].append(next(filter(None, match.groups())))
        added = [name for name in names["+"] if name not in names["-"]]
        removed = [name for name in names["-"] if name not in names["+"]]
        found.append(
            {"path": file.path, "status": file.status, "added": [*added], "removed": [*removed]}
        )
    return found
