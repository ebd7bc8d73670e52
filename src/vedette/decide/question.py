"""The three typed questions: choice, score (ordered levels), yes or no."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from vedette.errors import InputError
from vedette.json_text import json_text
from vedette.types import Json

Kind: TypeAlias = Literal["choice", "score", "noul"]
KINDS: tuple[Kind, ...] = get_args(Kind)

YES_NO = ("yes", "no")
MOST_OPTIONS = 255
MOST_LEVELS = 10
# What stands between the options of a question in one line.
MARKS: dict[str, Kind] = {"|": "choice", "<": "score"}
LINE_HINT = "write `Is it urgent?`, `Which team? billing|shipping`, or `How urgent? low<high`"


@dataclass(frozen=True, slots=True)
class Option:
    """One possible answer: the words that are scored, and what they mean."""

    name: str
    description: str = ""


YES_NO_OPTIONS = tuple(Option(word) for word in YES_NO)


@dataclass(frozen=True, slots=True)
class Question:
    """One closed question about a text.

    `options` are the choices, the levels from low to high, or yes and no. `id` names it in the
    answer and is not shown to the model. Raises `InputError` for a question that cannot be asked.
    """

    id: str
    kind: Kind
    instructions: str
    options: tuple[Option, ...] = YES_NO_OPTIONS

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a question has an empty id")
        if not self.instructions.strip():
            raise self._fault('"instructions" must be a non-empty string, object, or array')
        names = self.names
        if any(not name.strip() for name in names):
            raise self._fault('"criteria" has an option without a name')
        if (twice := _twice(names)) is not None:
            raise self._fault(f'"criteria" has {twice!r} twice')
        if self.kind == "choice" and not 1 <= len(names) <= MOST_OPTIONS:
            raise self._fault(
                f'"criteria" has {len(names)} options, at most {MOST_OPTIONS} are supported'
            )
        if self.kind == "score" and not 2 <= len(names) <= MOST_LEVELS:
            raise self._fault(f'"criteria" must be an array of 2 to {MOST_LEVELS} levels')

    @property
    def names(self) -> tuple[str, ...]:
        """The words that are scored, in order."""
        return tuple(option.name for option in self.options)

    def _fault(self, what: str) -> InputError:
        return InputError(f"questions.{self.id}: {what}")


def parse_questions(data: object) -> tuple[Question, ...]:
    """Questions from JSON: an object of id -> {"type", "instructions", "criteria"}.

    The form is that of the System One protocol (`POST /v1/systemone`): `type` is choice, score
    or noul (yes or no); `criteria` an object of option -> description, an array of levels from
    low to high, or what "true" and "false" mean. Raises `InputError` with the question's id.
    """
    if isinstance(data, Mapping) and isinstance(data.get("questions"), Mapping):
        data = data["questions"]  # a whole request
    if not isinstance(data, Mapping) or not data:
        raise InputError('"questions" must be a non-empty object')
    return tuple(parse_question(str(name), body) for name, body in data.items())


def parse_question(name: str, body: object) -> Question:
    """One of `parse_questions`, by its id. Raises `InputError` with it."""
    if not isinstance(body, Mapping):
        raise InputError(f"questions.{name}: must be an object")
    unknown = sorted(set(body) - {"type", "instructions", "criteria"})
    if unknown:
        raise InputError(
            f"questions.{name}: unknown key {unknown[0]!r}",
            hint="a question has type, instructions and criteria",
        )
    kind = body.get("type")
    if kind not in KINDS:
        raise InputError(f'questions.{name}: "type" must be one of: {", ".join(KINDS)}')
    instructions = _text(body.get("instructions"))
    return Question(
        name, kind, instructions, _OPTIONS[cast(Kind, kind)](name, body.get("criteria"))
    )


def _text(value: object) -> str:
    """A string as it is, an object or array as JSON; anything else as nothing."""
    if isinstance(value, str):
        return value
    return json_text(cast(Json, value)) if value and isinstance(value, Mapping | list) else ""


def _described(name: str, pairs: Iterable[tuple[Any, Any]]) -> tuple[Option, ...]:
    options = []
    for option, meaning in pairs:
        if meaning is not None and not isinstance(meaning, str | Mapping):
            raise InputError(
                f"questions.{name}: the meaning of {option!r} must be a string, object or null"
            )
        options.append(Option(str(option), _text(meaning)))
    return tuple(options)


def _choice(name: str, criteria: object) -> tuple[Option, ...]:
    if not isinstance(criteria, Mapping) or not criteria:
        raise InputError(f'questions.{name}: "criteria" must be a non-empty object')
    return _described(name, criteria.items())


def _score(name: str, criteria: object) -> tuple[Option, ...]:
    levels = criteria if isinstance(criteria, list) else []
    if not all(isinstance(level, str) for level in levels):
        raise InputError(f'questions.{name}: "criteria" must be an array of strings')
    return tuple(Option(level) for level in levels)


def _noul(name: str, criteria: object) -> tuple[Option, ...]:
    if criteria is None:
        return YES_NO_OPTIONS
    if not isinstance(criteria, Mapping) or set(criteria) - {"true", "false"}:
        raise InputError(f'questions.{name}: "criteria" must be an object with "true" and "false"')
    return _described(name, zip(YES_NO, map(criteria.get, ("true", "false")), strict=True))


_OPTIONS = {"choice": _choice, "score": _score, "noul": _noul}


def ask(spec: str, number: int = 1) -> Question:
    """A question in one line: `[id=]text[? options]`.

    `Is it urgent?` is yes or no, `Which team? billing|shipping` a choice, `How urgent? can
    wait<today<now` ordered levels. Raises `InputError` for anything else.
    """
    name, found, rest = spec.partition("=")
    if not (found and name.isidentifier()):
        name, rest = f"q{number}", spec
    end = max(rest.rfind(mark) for mark in "?？:：")
    text, listed = (rest[: end + 1].strip(), rest[end + 1 :].strip()) if end >= 0 else (rest, "")
    if not text.strip():
        raise InputError(f"the question {spec!r} has no words", hint=LINE_HINT)
    if not listed:
        return Question(name, "noul", text.strip())
    for mark, kind in MARKS.items():
        if mark in listed:
            names = tuple(part.strip() for part in listed.split(mark))
            _check_line(spec, kind, names, mark)
            return Question(name, kind, text, tuple(map(Option, names)))
    raise InputError(f"cannot read the question {spec!r}", hint=LINE_HINT)


def _check_line(spec: str, kind: Kind, names: Sequence[str], mark: str) -> None:
    """Raise what `Question` would, in the words of a line instead of those of JSON."""
    one, most = ("option", MOST_OPTIONS) if kind == "choice" else ("level", MOST_LEVELS)
    asked = f"the question {spec!r} has"
    if not all(names):
        raise InputError(
            f"{asked} an empty {one}", hint=f"write words on both sides of each {mark}"
        )
    if (twice := _twice(names)) is not None:
        raise InputError(f"{asked} the {one} {twice!r} twice", hint="leave one of them out")
    if len(names) > most:
        raise InputError(
            f"{asked} {len(names)} {one}s; at most {most} are supported",
            hint=f"join some of the {one}s",
        )


def _twice(names: Sequence[str]) -> str | None:
    """The first name that was there before."""
    return next((name for i, name in enumerate(names) if name in names[:i]), None)


def read_questions(text: str, where: str) -> tuple[Question, ...]:
    """`parse_questions` of a JSON file's text. Raises `InputError` that names the file."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    try:
        return parse_questions(data)
    except InputError as error:
        raise InputError(f"{where}: {error.message}", hint=error.hint) from error


def check_ids(questions: Sequence[Question]) -> None:
    """Raise `InputError` where there is no question, or two have one id."""
    ids = [question.id for question in questions]
    if not ids:
        raise InputError("there is no question", hint="give --ask or --questions")
    for i, name in enumerate(ids):
        if name in ids[:i]:
            raise InputError(f"two questions have the id {name!r}", hint="name one of them anew")
