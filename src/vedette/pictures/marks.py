"""Texts that stand for pictures, where only texts are known."""

from __future__ import annotations

import re
from weakref import WeakValueDictionary

from vedette.types import Picture

# Private-use characters around the hash of a picture: nothing that is read off files spells them.
MARK = re.compile("\ue0f4([0-9a-f]{64})\ue0f5")
SAMPLE = f"\ue0f4{'0' * 64}\ue0f5"
"""A mark that stands for nothing, to try a task on."""

_album: WeakValueDictionary[str, Picture] = WeakValueDictionary()


def mark_of(picture: Picture) -> str:
    """The text that stands for a picture, for as long as somebody holds the picture itself."""
    # Of two equal ones the first may go before the second: the latest is held the longest.
    _album[picture.sha256] = picture
    return f"\ue0f4{picture.sha256}\ue0f5"


def of_mark(sha256: str) -> Picture | None:
    """The picture of this hash, if somebody still holds it."""
    return _album.get(sha256)
