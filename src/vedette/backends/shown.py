"""Pictures in the place of texts: a task is given a mark, and the model what the mark stands for.

So a task that only puts the text of an item into its prompt takes pictures without knowing of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from vedette.errors import EngineFailed, InputError
from vedette.models.fingerprint import file_sha256
from vedette.pictures.content import joined
from vedette.pictures.marks import MARK, SAMPLE, of_mark
from vedette.types import AnyRequest, Message, Picture, Request

from .adapted import Adapted
from .around import Around
from .base import Backend, Handle, Result
from .local import LocalBackend

R = TypeVar("R", bound=AnyRequest)


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
            replace(message, content=MARK.sub("", message.content))
            for message in request.prompt.messages
        )
        super().check(replace(request, prompt=replace(request.prompt, messages=messages)))

    def show_prompt(self, request: AnyRequest) -> str:
        """See `Backend`."""
        return super().show_prompt(_shown(request))

    def count_tokens(self, text: str) -> int:
        """See `Backend`; a mark counts for nothing: how much is shown is the projector's to say."""
        return super().count_tokens(MARK.sub("", text))


def _shown(request: R) -> R:
    _check_input(request)
    messages = request.prompt.messages
    if not any(MARK.search(message.content) for message in messages):
        return request
    prompt = request.prompt
    shared = messages[prompt.shared_messages :][:1] if prompt.shared_chars else ()
    n_marks = sum(len(MARK.findall(m.content[: prompt.shared_chars])) for m in shared)
    prompt = replace(
        prompt,
        messages=tuple(map(_with_pictures, messages)),
        shared_chars=prompt.shared_chars - n_marks * len(SAMPLE),
    )
    return replace(request, prompt=prompt)


def _with_pictures(message: Message) -> Message:
    pieces = MARK.split(message.content)
    if len(pieces) == 1:
        return message
    parts = [_found(piece) if i % 2 else piece for i, piece in enumerate(pieces)]
    text, placed = joined([part for part in parts if part])
    return replace(message, content=text, pictures=placed)


def _found(sha256: str) -> Picture:
    picture = of_mark(sha256)
    if picture is None:
        raise EngineFailed("a picture was let go before it was shown")
    return picture


def _check_input(request: AnyRequest) -> None:
    constraint = request.constraint if isinstance(request, Request) else None
    if constraint is not None and MARK.search(constraint.input):
        raise InputError(
            "an answer is to be copied from the text, and a picture that is shown has none",
            hint="have its text read first: --read-by ocr",
        )
