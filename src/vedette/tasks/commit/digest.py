"""The lines of a large change that tell what it is for, in words that people wrote in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .diff import File, Hunk
from .excerpt import CountTokens, excerpt, shares
from .file_kinds import SOURCE, is_changelog, kind_of_path

DIGEST_TOKENS = 800
_LEAST_FILE_TOKENS = 40
_CHANGELOG = "changelog"
# A change log says what a change is for; the names of tests say it after all else.
_WEIGHTS = {_CHANGELOG: 8, "docs": 3, SOURCE: 4, "test": 1, "build": 1, "ci": 1}
_ORDER = tuple(_WEIGHTS)

_WORDS = (
    r"""(?:export|default|pub(?:\([^)]*\))?|public|protected|static|async|abstract|final|\s)*"""
)
_TELLING = re.compile(
    rf"""[+-]\s*(?:
        (?:\"\"\"|'''|\#|//|/\*|\*\s|--\s|<!--).*\w                        # comments, docstrings
      | {_WORDS}(?:def|class|func|fn|function|interface|struct|enum|trait|type|module)\s+(?!_)\w
      | (?:it|test|describe|specify)(?:\.\w+)?\(                          # tests by sentences
    )""",
    re.VERBOSE,
)


def digest(files: Sequence[File], count_tokens: CountTokens, budget_tokens: int) -> str:
    """Of each file its name and its telling lines, within `budget_tokens`.

    What a change log and documents have, comments, and what is defined by a public name; of a file
    without such lines, its changed lines. Change logs stand first, then documents, source and
    tests, the largest changes first. Files that have no room are counted.
    """
    ranked = sorted(files, key=_rank)
    shown = ranked[: max(1, budget_tokens // _LEAST_FILE_TOKENS)]
    told = [_telling(file) for file in shown]
    whole = [
        excerpt(file, budget_tokens, count_tokens, hunks)
        for file, hunks in zip(shown, told, strict=True)
    ]
    weights = [_WEIGHTS[_kind(file)] for file in shown]
    limits = shares([one.n_tokens for one in whole], weights, budget_tokens)
    texts = [
        (one if one.n_tokens <= limit else excerpt(one.file, limit, count_tokens, hunks)).text
        for one, limit, hunks in zip(whole, limits, told, strict=True)
    ]
    if len(ranked) > len(shown):
        texts.append(f"and {len(ranked) - len(shown)} more files")
    return "\n".join(texts)


def _kind(file: File) -> str:
    return _CHANGELOG if is_changelog(file.path) else kind_of_path(file.path)


def _rank(file: File) -> tuple[int, int]:
    return (_ORDER.index(_kind(file)), -file.changed)


def _telling(file: File) -> tuple[Hunk, ...]:
    """The hunks with their telling lines only; whole, if it is a document or has none."""
    if kind_of_path(file.path) == "docs":
        return file.hunks
    hunks = [
        Hunk(hunk.section, tuple(line for line in hunk.lines if _TELLING.match(line)))
        for hunk in file.hunks
    ]
    return tuple(hunk for hunk in hunks if hunk.lines) or file.hunks
