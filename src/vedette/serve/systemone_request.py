"""The body of `POST /v1/systemone`, held to the contract of the System One protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

import orjson

from vedette.config import nearest
from vedette.decide.question import Question, parse_question
from vedette.errors import InputError
from vedette.json_text import json_text
from vedette.types import Json

from .systemone_problems import Fault

Confidence: TypeAlias = Literal["typesafe", "entropy"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)

EXTENSION = "vedette"
MOST_QUESTIONS = 4096
MOST_IMAGES = 8
MOST_NESTED = 32
NO_PROJECTOR = "is not supported: this route shows a model texts only"

_KEYS = ("model", "state", "questions", "images", "videos", "files", "stream", EXTENSION)


@dataclass(frozen=True, slots=True)
class SystemOne:
    """What is asked: questions about a state, as one text. `options` are those of the extension.

    None: it was not asked for. Else they are options of `Decide` but for its questions, and
    `confidence` says by which formula that is told.
    """

    state: str
    questions: tuple[Question, ...]
    model: str = ""
    options: Mapping[str, Json] | None = None
    confidence: Confidence = "typesafe"


def parse(raw: bytes) -> SystemOne:
    """Read a body. Raises `Fault` in the words of the contract."""
    body = _json(raw)
    for name in body:
        if name not in _KEYS:
            meant = nearest(name, _KEYS)
            hint = f" (did you mean {meant}?)" if meant else ""
            raise Fault(422, f'"{name}" is not a field of the request{hint}')
    if not isinstance(body.get("model"), str | None):
        raise Fault(422, '"model" must be a string')
    if body.get("stream") not in (None, False):
        raise Fault(422, '"stream" is not supported')
    for name in ("videos", "files"):
        if body.get(name) not in (None, []):
            raise Fault(422, f'"{name}" is not supported')
    _check_images(body.get("images"))
    options, confidence = _extension(body.get(EXTENSION))
    return SystemOne(
        state_text(body.get("state")),
        _questions(body.get("questions")),
        body.get("model") or "",
        options,
        confidence,
    )


def _json(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if "depth limit" in str(error):
            raise Fault(422, '"body" is nested too deeply') from error
        raise Fault(
            400, "the body is empty" if not raw else "the body is not valid JSON"
        ) from error
    if not isinstance(body, dict):
        raise Fault(422, '"body" must be an object')
    if _is_deeper(body, MOST_NESTED):
        raise Fault(422, '"body" is nested too deeply')
    return body


def _is_deeper(value: Any, most: int) -> bool:
    """Whether objects and arrays stand in each other more than `most` deep."""
    level = [value]
    for _ in range(most):
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [part for one in inner for part in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def _questions(value: Any) -> tuple[Question, ...]:
    if not isinstance(value, dict) or not value:
        raise Fault(422, '"questions" must be a non-empty object')
    if len(value) > MOST_QUESTIONS:
        raise Fault(413, f"{len(value)} questions are asked, at most {MOST_QUESTIONS} can be")
    if "" in value:
        raise Fault(422, '"questions" has an empty id')
    try:
        return tuple(parse_question(name, one) for name, one in value.items())
    except InputError as error:
        raise Fault(422, str(error)) from error


def _check_images(value: Any) -> None:
    if value is None or value == []:
        return
    if not isinstance(value, list):
        raise Fault(422, '"images" must be an array')
    if len(value) > MOST_IMAGES:
        raise Fault(422, f'"images" has {len(value)} images, at most {MOST_IMAGES} are supported')
    if not all(isinstance(one, str) and one.startswith("data:image/") for one in value):
        raise Fault(422, '"images" must be an array of data URLs of images')
    raise Fault(422, f'"images" {NO_PROJECTOR}')


def _extension(value: Any) -> tuple[Mapping[str, Json] | None, Confidence]:
    if value is None:
        return None, "typesafe"
    if not isinstance(value, dict):
        raise Fault(422, f'"{EXTENSION}" must be an object')
    options = dict(value)
    confidence = options.pop("confidence", "typesafe")
    if confidence not in CONFIDENCES:
        listed = ", ".join(CONFIDENCES)
        raise Fault(422, f'"{EXTENSION}.confidence" must be one of: {listed}')
    return options, cast(Confidence, confidence)


def state_text(state: Any) -> str:
    """A state as the model reads it: a text, a chat a line for each turn, else JSON."""
    if state is None:
        raise Fault(422, '"state" must be provided')
    if isinstance(state, str):
        return state if state.strip() else json_text(state)
    if not isinstance(state, dict | list):
        raise Fault(422, '"state" must be a string, object, or array')
    only_messages = isinstance(state, dict) and state.keys() == {"messages"}
    turns = cast(dict[str, Any], state)["messages"] if only_messages else state
    if isinstance(turns, list) and turns and all(map(_is_turn, turns)):
        return "\n".join(f"{turn['role']}: {_content(turn['content'])}" for turn in turns)
    return json_text(state)


def _is_turn(value: Any) -> bool:
    """Whether it is a message of a chat, and nothing else."""
    if not isinstance(value, dict) or value.keys() != {"role", "content"}:
        return False
    content = value["content"]
    is_parts = isinstance(content, list) and all(map(_is_part, content))
    return isinstance(value["role"], str) and (isinstance(content, str) or is_parts)


def _is_part(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") == "image_url":
        raise Fault(422, f'"state" has an image, which {NO_PROJECTOR}')
    return value.get("type") == "text" and isinstance(value.get("text"), str)


def _content(content: str | list[dict[str, str]]) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n".join(part["text"] for part in content).strip()
