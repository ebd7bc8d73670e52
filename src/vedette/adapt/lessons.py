"""What is trained on: the tokens of a prompt as the task sends it, and of the right answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vedette.backends.local import LocalBackend
from vedette.errors import InputError
from vedette.types import AnyRequest, Request

from .subjects import Subject


@dataclass(frozen=True, slots=True)
class Lesson:
    """One question of a row; the answer ends with the token that ends the model's turn."""

    row: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]

    @property
    def n_tokens(self) -> int:
        """Length of both."""
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is not trained on, and why."""

    row: str
    why: str


def lessons_of(
    subject: Subject, rows: Iterable[int], backend: LocalBackend, length_tokens: int
) -> tuple[list[Lesson], list[LeftOut]]:
    """The lessons of these rows, and the rows of which nothing can be learnt.

    Those are rows that take more than `length_tokens`, which are never cut, rows that the task
    does not ask as one, and rows whose right answer the constraint does not allow.
    """
    lessons: list[Lesson] = []
    left_out: list[LeftOut] = []
    for number in rows:
        name = subject.items[number].id
        try:
            taught = [
                lesson_of(name, request, answer, backend)
                for request, answer in subject.taught(number, backend)
            ]
            for lesson in taught:
                _check_length(lesson, length_tokens)
        except InputError as error:
            left_out.append(LeftOut(name, error.message))
        else:
            lessons += taught
    return lessons, left_out


def lesson_of(row: str, request: AnyRequest, answer: str, backend: LocalBackend) -> Lesson:
    """Prompt and answer as the engine has them.

    Raises `InputError` for an answer that the request's constraint does not allow.
    """
    tokenizer = backend.engine.tokenizer
    prompt = tokenizer.encode(request.prompt).ids
    said = tokenizer.encode_text(answer)
    if isinstance(request, Request) and len(said) > request.max_tokens:
        raise InputError(
            f"the right answer is {len(said)} tokens, and the task writes {request.max_tokens}"
        )
    if isinstance(request, Request) and request.constraint is not None:
        matcher = backend.engine.compiler.matcher(request.constraint)
        n_legal = matcher.n_legal(said)
        if n_legal < len(said):
            legal = b"".join(tokenizer.piece(token) for token in said[:n_legal])
            raise InputError(
                "the right answer is not one that the task could give: after "
                f"{legal.decode('utf-8', 'replace')[-60:]!r} the schema allows no "
                f"{tokenizer.piece(said[n_legal]).decode('utf-8', 'replace')!r}"
            )
    return Lesson(row, tuple(prompt), (*said, *tokenizer.end_of_turn()))


def _check_length(lesson: Lesson, length_tokens: int) -> None:
    if lesson.n_tokens > length_tokens:
        raise InputError(
            f"prompt and answer are {lesson.n_tokens} tokens, over the {length_tokens} of training"
        )
