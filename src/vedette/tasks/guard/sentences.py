"""Where the sentences of a text are."""

from __future__ import annotations

import re

LEAST_CHARS = 8  # what is shorter, a list's number say, goes with what follows

_END = re.compile(
    r"""[.!?…]+["'”’)\]]*(?=\s|$)\s*   # Western marks end a sentence before white space
    | [。！？；]+["'”’」』）\]]*\s*      # Chinese and Japanese ones do anywhere
    | [\n\r\u2028\u2029]\s*            # so does the line""",
    re.VERBOSE,
)


def sentences(text: str) -> list[tuple[int, int]]:
    """`[start, end)` of each sentence, without the white space around it.

    In order and apart; every character that is not white space is in one.
    """
    found: list[tuple[int, int]] = []
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        piece = text[start:end]
        if len(piece.strip()) < LEAST_CHARS and end < len(text):
            continue
        if piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            found.append((first, start + len(piece.rstrip())))
        start = end
    return found
