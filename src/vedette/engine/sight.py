"""What a model is shown of pictures: each is encoded once while it is remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from vedette.errors import PictureError
from vedette.types import Picture

from .llama.batch import Vectors

if TYPE_CHECKING:
    from .llama.vision import Part, Projector

MOST_BYTES = 64 * 1024 * 1024
"""Of vectors that are remembered: some thirty pictures of 256 positions for a model of 2,048."""

MOST_RATIO = 200
"""A picture that is longer than that is shown to no model: what it would be cut to is nothing."""


class Sight:
    """Turns pictures into parts of a prompt. Any thread; one picture at a time is encoded."""

    def __init__(self, projector: Projector, most_bytes: int = MOST_BYTES) -> None:
        self._projector = projector
        self._most_bytes = most_bytes
        self._encoding = threading.Lock()
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Part, ...]] = OrderedDict()
        self._n_bytes = 0
        self.n_encoded = 0

    @property
    def path(self) -> Path:
        """The projector's file."""
        return self._projector.path

    def parts(self, picture: Picture) -> tuple[Part, ...]:
        """The picture as it stands in a prompt.

        Raises `PictureError` for one that cannot be shown, and `EngineFailed`.
        """
        found = self._recall(picture.sha256)
        if found is not None:
            return found
        with self._encoding:
            found = self._recall(picture.sha256)  # another thread may have had the same one
            if found is None:
                found = self._encoded(picture)
                self._remember(picture.sha256, found)
            return found

    def _encoded(self, picture: Picture) -> tuple[Part, ...]:
        from vedette.pictures.pixels import bgr_of  # it needs the extra `pictures`

        sides = picture.width_px, picture.height_px
        if max(sides) > MOST_RATIO * min(sides):
            raise PictureError(
                f"a picture of {sides[0]} x {sides[1]} pixels is too long to be shown: at most "
                f"{MOST_RATIO} times as long as wide",
                hint="cut it up",
                sha256=picture.sha256,
            )
        parts = tuple(self._projector.parts(bgr_of(picture)[:, :, ::-1]))
        self.n_encoded += 1
        return parts

    def _recall(self, sha256: str) -> tuple[Part, ...] | None:
        with self._lock:
            if sha256 in self._known:
                self._known.move_to_end(sha256)
            return self._known.get(sha256)

    def _remember(self, sha256: str, parts: tuple[Part, ...]) -> None:
        with self._lock:
            self._known[sha256] = parts
            self._n_bytes += _size_bytes(parts)
            while self._n_bytes > self._most_bytes and len(self._known) > 1:
                _, oldest = self._known.popitem(last=False)
                self._n_bytes -= _size_bytes(oldest)

    def close(self) -> None:
        """Free the projector. Nobody may be shown anything any more."""
        with self._encoding:
            self._projector.close()


def ids_of(picture: Picture, first: int, n: int) -> range:
    """Numbers for `n` places of a picture from its `first` one on, to stand among token ids.

    They are below 0, where no token is, and another picture has others, but for one chance in
    2^128: so a cache that goes by ids shares what is the same and nothing else.
    """
    start = (int(picture.sha256[:32], 16) << 32) + first + 1
    return range(-start, -start - n, -1)


def _size_bytes(parts: tuple[Part, ...]) -> int:
    return sum(part.values.nbytes for part in parts if isinstance(part, Vectors))
