"""Texts and pictures in turn, as one text with the pictures in their places."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.types import Picture, Placed


def joined(parts: Sequence[str | Picture]) -> tuple[str, tuple[Placed, ...]]:
    """The text, and where in it the pictures stand.

    A line break comes between two texts, and nothing around a picture: what its model wants to see
    there is the projector's to say.
    """
    text = ""
    placed: list[Placed] = []
    follows_text = False
    for part in parts:
        if isinstance(part, Picture):
            placed.append(Placed(len(text), part))
        else:
            text += f"\n{part}" if follows_text else part
        follows_text = isinstance(part, str)
    return text, tuple(placed)
