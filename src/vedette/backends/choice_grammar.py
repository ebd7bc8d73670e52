"""Choices in llama.cpp's grammar notation."""

from __future__ import annotations

from collections.abc import Sequence

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def choice_grammar(choices: Sequence[str]) -> str:
    """GBNF for exactly one of these texts."""
    return "root ::= " + " | ".join(map(_literal, choices))


def _literal(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'
