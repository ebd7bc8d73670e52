"""Names in a text that a reader would look up: files, paths, identifiers, versions, issues."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vedette.tasks.prompt_data import load_prompt

from .diff import File

_WORD = r"A-Za-z0-9_"
_NAME = re.compile(
    rf"""
      `[^`\n]+`                                                         # `quoted`
    | (?<![{_WORD}./-])(?:https?://[^\s)\]>"']+)                        # URLs
    | (?<![{_WORD}])(?:~|\.{{1,2}})?/?[{_WORD}.@+-]{{2,}}(?:/[{_WORD}.@+*-]{{2,}})+/?   # paths
    | (?<![{_WORD}/])(?:~|\.{{1,2}})?/[{_WORD}.@+-]{{2,}}/?             # /path, ./path, ~/path
    | (?<![{_WORD}./-])[{_WORD}.-]*[{_WORD}]\.[A-Za-z][A-Za-z0-9]{{0,9}}(?![{_WORD}])  # name.ext
    | (?<![{_WORD}])v?\d+(?:\.\d+)+(?![{_WORD}])                        # versions
    | (?<![{_WORD}&])\#\d+                                              # issues
    | (?<![{_WORD}-])--[A-Za-z][{_WORD}-]+                              # options
    | (?<![{_WORD}])[A-Za-z0-9]*_[{_WORD}]*[A-Za-z0-9][{_WORD}]*        # snake_case
    | (?<![{_WORD}])[{_WORD}]+(?=\(\))                                  # calls()
    | (?<![{_WORD}])[a-z]+[A-Z][A-Za-z0-9]*                             # camelCase
    | (?<![{_WORD}])(?:[A-Z][a-z0-9]+){{2,}}[A-Z]*(?![{_WORD}])         # PascalCase
    """,
    re.VERBOSE,
)
_NOT_NAMES = frozenset({"e.g", "i.e", "etc."})


def names_in(text: str) -> list[str]:
    """Names in the order in which they come, each once."""
    common = {word.lower() for word in load_prompt("commit")["common_words"]}
    found = (match[0].strip("`").rstrip(".,;:") for match in _NAME.finditer(text))
    return [
        name
        for name in dict.fromkeys(found)
        if name and name.lower() not in common and name.lower() not in _NOT_NAMES
    ]


class KnownNames:
    """The names that a line may have: those that stand in a text."""

    def __init__(self, text: str) -> None:
        self._text = text.lower()

    @classmethod
    def of_files(cls, files: Iterable[File]) -> KnownNames:
        """Names of the files of a diff, and all that stands in its lines."""
        parts: list[str] = []
        for file in files:
            parts += [file.path, file.old_path or ""]
            for hunk in file.hunks:
                parts += [hunk.section, *(line[1:] for line in hunk.lines)]
        return cls("\n".join(parts))

    def invented(self, text: str) -> list[str]:
        """Names in `text` that stand nowhere."""
        return [name for name in names_in(text) if not self._knows(name)]

    def has(self, text: str) -> bool:
        """Whether a text stands there, in any case."""
        return text.lower() in self._text

    def _knows(self, name: str) -> bool:
        bare = name.strip("`./~").removesuffix("()").lower()
        edges = rf"(?<![a-z0-9_]){re.escape(bare)}(?![a-z0-9_])"
        return not bare or re.search(edges, self._text) is not None
