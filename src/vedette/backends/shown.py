"""Pictures in the place of texts: a task is given a mark, and the model what the mark stands for.

So a task that only puts the text of an item into its prompt takes pictures without knowing of them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar
from weakref import WeakValueDictionary

from vedette.errors import EngineFailed, InputError
from vedette.models.fingerprint import file_sha256
from vedette.pictures.content import joined
from vedette.types import AnyRequest, Message, Picture, Request

from .adapted import Adapted
from .around import Around
from .base import Backend, Handle, Result
from .local import LocalBackend

R = TypeVar("R", bound=AnyRequest)

# Private-use characters around the hash of a picture: nothing that is read off files spells them.
_MARK = re.compile("\ue0f4([0-9a-f]{64})\ue0f5")
SAMPLE = f"\ue0f4{'0' * 64}\ue0f5"
"""A mark that stands for nothing, to try a task on."""

_album: WeakValueDictionary[str, Picture] = WeakValueDictionary()


def mark_of(picture: Picture) -> str:
    """The text that stands for a picture, for as long as somebody holds the picture itself."""
    # Of two equal ones the first may go before the second: the latest is held the longest.
    _album[picture.sha256] = picture
    return f"\ue0f4{picture.sha256}\ue0f5"


def projector_sha256(backend: Backend) -> str | None:
    """Hash of the projector by which a backend in this process sees; None for all others."""
    local = backend.local if isinstance(backend, Adapted) else backend
    path = local.engine.options.mmproj if isinstance(local, LocalBackend) else None
    return None if path is None else file_sha256(path)


class Showing(Around):
    """Implements `Backend` over one that sees: marks in prompts become the pictures."""

    def answered(self, request: AnyRequest) -> Handle[Result]:
        """With the pictures in it. Raises `InputError` where the answer is to copy from one."""
        return super().answered(_shown(request))

    def check(self, request: AnyRequest) -> None:
        """See `Backend.check`; what is shown does not matter."""
        _check_input(request)
        messages = tuple(
            replace(message, content=_MARK.sub("", message.content))
            for message in request.prompt.messages
        )
        super().check(replace(request, prompt=replace(request.prompt, messages=messages)))

    def show_prompt(self, request: AnyRequest) -> str:
        """See `Backend`."""
        return super().show_prompt(_shown(request))

    def count_tokens(self, text: str) -> int:
        """See `Backend`; a mark counts for nothing: how much is shown is the projector's to say."""
        return super().count_tokens(_MARK.sub("", text))


def _shown(request: R) -> R:
    _check_input(request)
    messages = request.prompt.messages
    if not any(_MARK.search(message.content) for message in messages):
        return request
    prompt = request.prompt
    shared = messages[prompt.shared_messages :][:1] if prompt.shared_chars else ()
    n_marks = sum(len(_MARK.findall(m.content[: prompt.shared_chars])) for m in shared)
    prompt = replace(
        prompt,
        messages=tuple(map(_with_pictures, messages)),
        shared_chars=prompt.shared_chars - n_marks * len(SAMPLE),
    )
    return replace(request, prompt=prompt)


def _with_pictures(message: Message) -> Message:
    pieces = _MARK.split(message.content)
    if len(pieces) == 1:
        return message
    parts = [_found(piece) if i % 2 else piece for i, piece in enumerate(pieces)]
    text, placed = joined([part for part in parts if part])
    return replace(message, content=text, pictures=placed)


def _found(sha256: str) -> Picture:
    picture = _album.get(sha256)
    if picture is None:
        raise EngineFailed("a picture was let go before it was shown")
    return picture


def _check_input(request: AnyRequest) -> None:
    constraint = request.constraint if isinstance(request, Request) else None
    if constraint is not None and _MARK.search(constraint.input):
        raise InputError(
            "an answer is to be copied from the text, and a picture that is shown has none",
            hint="have its text read first: --read-by ocr",
        )
