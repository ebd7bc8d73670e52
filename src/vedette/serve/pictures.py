"""Pictures of requests: shown to a model that sees, read by OCR for one that does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vedette.backends.base import Backend
from vedette.errors import CapabilityMissing, PictureError
from vedette.pictures.content import joined
from vedette.types import Json, Message, Picture, Reading

from .problems import Refusal

if TYPE_CHECKING:
    from vedette.pictures.ocr import Ocr

MOST_PICTURES = 16
HEADER = "X-Vedette-Pictures"
FIELD = "vedette"
"""Under this name an answer says what became of its pictures."""


@dataclass(frozen=True, slots=True)
class Talk:
    """The turns of a chat as the model is given them, and what is said of their pictures."""

    messages: tuple[Message, ...]
    told: tuple[dict[str, Json], ...] = ()

    @property
    def field(self) -> dict[str, Json]:
        """What an answer has beside what OpenAI's has; nothing without pictures."""
        return {FIELD: {"pictures": [*self.told]}} if self.told else {}

    @property
    def headers(self) -> dict[str, str]:
        """The same in one word: `projector` or `ocr`."""
        return {HEADER: str(self.told[0]["read_by"])} if self.told else {}


NOTHING = Talk(())


class Pictures:
    """Loads the pictures of requests, one at a time, so that many of them take no more memory.

    Only those in the request itself, unless `fetch` allows http(s) URLs.
    """

    def __init__(self, backend: Backend, *, fetch: bool = False) -> None:
        self._backend = backend
        self._fetch = fetch
        self._lock = threading.Lock()
        self._ocr: Ocr | None = None

    def load(self, url: str, param: str) -> Picture:
        """The picture of a data URL. Raises `Refusal` with the field that is at fault."""
        from vedette.pictures.fetch import Fetch, is_url
        from vedette.pictures.loading import load, shortened

        if url[:5].lower() != "data:" and not (self._fetch and is_url(url)):
            if is_url(url):
                why = "this server fetches no pictures; send it as a data URL"
            else:
                why = "it is no data URL: data:image/png;base64,..."
            raise Refusal(f"{param}: {shortened(url)}: {why}", code="invalid_picture", param=param)
        try:
            with self._lock:
                return load(url, fetch=Fetch() if self._fetch else None)
        except PictureError as error:
            raise Refusal(f"{param}: {error}", code=error.code, param=param) from error

    async def talk(self, made: Callable[[], tuple[Message, ...]], *, has_some: bool) -> Talk:
        """The turns that `made` makes, off the event loop if there are pictures to be loaded.

        Where the backend does not see, their text stands in their places. Raises `Refusal`,
        and `CapabilityMissing` where they can neither be shown nor read.
        """
        if not has_some:
            return Talk(made())
        return await asyncio.to_thread(lambda: self._seen(made()))

    def _seen(self, messages: tuple[Message, ...]) -> Talk:
        pictures = [placed.picture for message in messages for placed in message.pictures]
        if self._backend.capabilities.can_see:
            told: list[dict[str, Json]] = [
                {"sha256": each.sha256, "read_by": "projector"} for each in pictures
            ]
            return Talk(messages, tuple(told))
        different = {each.sha256: each for each in pictures}
        readings = {sha256: self._read(each) for sha256, each in different.items()}
        return Talk(
            tuple(_in_words(message, readings) for message in messages),
            tuple(readings[each.sha256].as_dict() for each in pictures),
        )

    def _read(self, picture: Picture) -> Reading:
        from vedette.pictures import ocr

        with self._lock:
            if self._ocr is None:
                try:
                    self._ocr = ocr.Ocr()
                except CapabilityMissing as error:
                    raise CapabilityMissing(
                        "the model has no vision projector, and its server no OCR: it can neither "
                        f"be shown a picture nor read one to ({error.message})",
                        hint=f"serve it with --mmproj FILE, or {error.hint}",
                    ) from error
        page = self._ocr.read(picture)
        return Reading(
            sha256=picture.sha256,
            text=page.text,
            lines=len(page.lines),
            confidence=page.confidence,
            unsure_lines=page.n_unsure,
        )


def check_number(n_pictures: int) -> None:
    """Raises `Refusal` for more pictures than a request may have."""
    if n_pictures > MOST_PICTURES:
        raise Refusal(
            f"there are {n_pictures} pictures, and a request may have {MOST_PICTURES}",
            code="too_many_pictures",
        )


def _in_words(message: Message, readings: dict[str, Reading]) -> Message:
    """The message with what stands on its pictures, each as a block of its own."""
    parts: list[str] = []
    begin = 0
    for placed in message.pictures:
        parts.append(message.content[begin : placed.at])
        parts.append(f"[Text on the picture]\n{readings[placed.picture.sha256].text}\n[End]")
        begin = placed.at
    parts.append(message.content[begin:])
    text, _ = joined([part for part in parts if part])
    return replace(message, content=text, pictures=())


def urls_in(contents: Sequence[object], kind: str) -> int:
    """How many parts of this type stand in these contents."""
    return sum(
        getattr(part, "type", None) == kind
        for content in contents
        if isinstance(content, list)
        for part in content
    )
