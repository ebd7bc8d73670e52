"""A diff to files and hunks: git's format, and plain unified diffs.

The formats are described in git-diff(1), "Generating patch text with -p" and "Combined diff
format", and in the manual of GNU diffutils, "Detailed Description of Unified Format".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from vedette.errors import InputError

Status = Literal["added", "deleted", "modified", "renamed", "copied"]

SAMPLE = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n"
"""A diff, as short as one can be."""

SUBMODULE_MODE = "160000"

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$")
_COMBINED_HUNK = re.compile(r"^(@{3,})((?: -\d+(?:,\d+)?)+) \+(\d+)(?:,(\d+))? @{3,} ?(.*)$")
_GIT_HEADER = re.compile(r"^diff --(?:git|cc|combined) (.*)$")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13}


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand together. `section` is what git found above them, such as a function.

    `lines` begin with `+`, `-` or a space.
    """

    section: str
    lines: tuple[str, ...]

    @property
    def changed(self) -> int:
        """Lines added or removed."""
        return sum(line.startswith(("+", "-")) for line in self.lines)


@dataclass(frozen=True, slots=True)
class File:
    """One file of a diff. `old_path` is there where it had another name before."""

    path: str
    status: Status = "modified"
    old_path: str | None = None
    is_binary: bool = False
    is_submodule: bool = False
    hunks: tuple[Hunk, ...] = ()

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(line.startswith("+") for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """Lines removed."""
        return sum(line.startswith("-") for hunk in self.hunks for line in hunk.lines)

    @property
    def changed(self) -> int:
        """Lines added or removed."""
        return self.added + self.removed


def parse_diff(text: str) -> tuple[File, ...]:
    """The files of a diff, in its order; what stands before the first one is skipped.

    Raises `InputError` for a text without any file, and for a hunk that is not whole.
    """
    reader = _Reader(text.split("\n"))
    files = reader.files()
    if not files:
        raise InputError(
            "the text is no diff: no file header was found in it",
            hint="give what `git diff` or `diff -u` writes",
        )
    return files


@dataclass(slots=True)
class _Draft:
    """A file while its lines are read."""

    git_names: str = ""
    path: str | None = None
    old_path: str | None = None
    status: Status = "modified"
    is_binary: bool = False
    is_submodule: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def done(self) -> File:
        """The file. Raises `InputError` where nothing says what it is called."""
        path = self.path or self.old_path or _same_name(self.git_names)
        if path is None:
            raise InputError(f"the diff does not say which file it is about: {self.git_names!r}")
        old = self.old_path if self.status in ("renamed", "copied") else None
        return File(path, self.status, old, self.is_binary, self.is_submodule, tuple(self.hunks))


class _Reader:
    """Goes through the lines once."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.drafts: list[_Draft] = []

    def files(self) -> tuple[File, ...]:
        while self.at < len(self.lines):
            self._step(self.lines[self.at].removesuffix("\r"))
        return tuple(draft.done() for draft in self.drafts)

    def _step(self, line: str) -> None:
        if header := _GIT_HEADER.match(line):
            self.drafts.append(_Draft(git_names=header[1]))
            self.at += 1
        elif self._is_plain_header(line):
            self._plain_header(line)
        elif self.drafts and (hunk := _HUNK.match(line)):
            old, new = int(hunk[2] or 1), int(hunk[4] or 1)
            self._hunk(hunk[5], [old, new])
        elif self.drafts and (hunk := _COMBINED_HUNK.match(line)):
            olds = [int(part.partition(",")[2] or 1) for part in hunk[2].split()]
            self._hunk(hunk[5], [*olds, int(hunk[4] or 1)])
        else:
            if self.drafts and not self.drafts[-1].hunks:
                _extended(self.drafts[-1], line)
            self.at += 1

    def _is_plain_header(self, line: str) -> bool:
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return line.startswith("--- ") and following.startswith("+++ ")

    def _plain_header(self, line: str) -> None:
        old = _path_of(line[4:])
        new = _path_of(self.lines[self.at + 1].removesuffix("\r")[4:])
        self.at += 2
        draft = self.drafts[-1] if self.drafts else None
        if draft is None or not draft.git_names or draft.hunks:
            draft = _Draft()
            self.drafts.append(draft)
        prefixed = all(name is None or name[:2] in _PREFIXES for name in (old, new))
        prefixed = prefixed and (old is None or new is None or old[:2] != new[:2])
        old, new = (name[2:] if name and prefixed else name for name in (old, new))
        if old is None:
            draft.status = "added"
        elif new is None:
            draft.status = "deleted"
        draft.path = new or old
        if draft.status not in ("renamed", "copied"):
            draft.old_path = None

    def _hunk(self, section: str, counts: list[int]) -> None:
        """The lines that the counts promise: one for each old side, the last for the new one."""
        start = self.at
        width = len(counts) - 1
        found: list[str] = []
        self.at += 1
        while any(count > 0 for count in counts):
            if self.at >= len(self.lines):
                raise self._broken(start, counts)
            line = self.lines[self.at].removesuffix("\r")
            if line.startswith("\\"):  # no newline at the end of the file
                self.at += 1
                continue
            marks, body = line[:width].ljust(width), line[width:]
            if set(marks) - set("+- "):
                raise self._broken(start, counts)
            is_removed = "-" in marks
            for side, mark in enumerate(marks):
                counts[side] -= mark == ("-" if is_removed else " ")
            counts[-1] -= not is_removed
            found.append(("-" if is_removed else "+" if "+" in marks else " ") + body)
            self.at += 1
        self.drafts[-1].hunks.append(Hunk(section.strip(), tuple(found)))

    def _broken(self, start: int, counts: list[int]) -> InputError:
        return InputError(
            f"the hunk at line {start + 1} of the diff is not whole: it ends at line {self.at}, "
            f"{max(counts)} lines short",
            hint="give the diff as it was written",
        )


_PREFIXES = ("a/", "b/", "i/", "w/", "c/", "o/", "1/", "2/")


def _extended(draft: _Draft, line: str) -> None:
    """A line between `diff --git` and the first hunk."""
    key, _, rest = line.partition(" ")
    if line.startswith("new file mode"):
        draft.status = "added"
        draft.is_submodule = line.endswith(SUBMODULE_MODE)
    elif line.startswith("deleted file mode"):
        draft.status = "deleted"
        draft.is_submodule = line.endswith(SUBMODULE_MODE)
    elif line.startswith("index ") and line.endswith(f" {SUBMODULE_MODE}"):
        draft.is_submodule = True
    elif line.startswith(("rename from ", "copy from ")):
        draft.status = "renamed" if key == "rename" else "copied"
        draft.old_path = _unquoted(rest.partition(" ")[2])
    elif line.startswith(("rename to ", "copy to ")):
        draft.path = _unquoted(rest.partition(" ")[2])
    elif line.startswith("GIT binary patch") or (
        line.startswith("Binary files ") and line.endswith(" differ")
    ):
        draft.is_binary = True


def _path_of(text: str) -> str | None:
    """The name behind `---` or `+++`, with its prefix; None for /dev/null."""
    quoted = _QUOTED.match(text)  # a tab may follow, and a time behind it
    name = _unquoted(quoted[0]) if quoted else text.partition("\t")[0].rstrip()
    return None if name == "/dev/null" else name


def _same_name(names: str) -> str | None:
    """The name in `a/NAME b/NAME`, where nothing else says it (a change of mode, an empty file)."""
    if names.startswith('"'):
        quoted = _QUOTED.match(names)
        name = _unquoted(quoted[0]) if quoted else ""
        return name[2:] or None
    half = len(names) // 2
    first, second = names[:half], names[half + 1 :]
    if first and names[half : half + 1] == " ":
        if first == second:
            return first
        if first[2:] == second[2:]:
            return first[2:] or None
    return None if names.count(" ") else names or None  # `diff --cc NAME` has it once


def _unquoted(name: str) -> str:
    """A name as git's C-style quoting means it."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    raw = _ESCAPE.sub(_escaped, name[1:-1].encode("utf-8"))
    return raw.decode("utf-8", "replace")


def _escaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return bytes([_ESCAPES[code]]) if code in _ESCAPES else code
