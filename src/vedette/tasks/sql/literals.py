"""The terminals of literals: numbers, strings, dates."""

from __future__ import annotations

import re

from vedette.engine.constraint.verbatim import chunks, lark_literal

MAX_STRING_CHARS = 60
MAX_SPAN_CHARS = 100

NUMBER = r"-?[0-9]{1,12}(\.[0-9]{1,4})?"
# A quote is doubled; backslashes mean nothing in SQLite's and PostgreSQL's plain strings.
STRING = rf"'([^'\x00-\x1f\x7f]|''){{0,{MAX_STRING_CHARS}}}'"
# No day that its month may lack: a date that is none would fail in the database.
DATE = (
    r"'[12][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
    r"|(0[13578]|1[02])-(29|3[01]|30)|(0[469]|11)-(29|30))'"
)
LIMIT = "[1-9][0-9]{0,3}"

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def quoted(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def span_terminals(question: str) -> list[str]:
    """Rules for SPAN, a quoted run of whole words of the question, and for LIKE around one.

    Empty if the question has nothing to quote.
    """
    text = _CONTROL.sub(" ", question).replace("'", "''")
    pieces: list[str] = []
    for piece in chunks(text):
        # A doubled quote is one character: it may not be cut in two.
        if piece == "'" and pieces and pieces[-1] == "'":
            pieces[-1] = "''"
        else:
            pieces.append(piece)
    if not any(piece.strip() for piece in pieces):
        return []
    listed = "[" + ",".join(lark_literal(piece) for piece in pieces) + "]"
    bounded = rf"(INNER & /[^ \t](?s:.{{0,{MAX_SPAN_CHARS}}})/)"
    return [
        f'INNER: %regex {{"substring_chunks": {listed}}}',
        f'SPAN: "\'" {bounded} "\'"',
        f'SPAN_LIKE: "\'" /%?/ {bounded} /%?/ "\'"',
    ]
