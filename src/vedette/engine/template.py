"""The model's chat template, run in a sandbox, with the messages kept apart from its own text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, NoReturn, TypeAlias

import orjson
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from vedette.errors import InputError, ModelError
from vedette.types import Picture, Prompt

from .call_form import CallTexts, probed
from .thinking import AFTER, CLOSES, OPENS
from .tool_prompt import MARK, MARKS, Marks, chat_of, tojson

# The form that a model without a template of its own gets.
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the rendered prompt: the template's own (`trusted`), or a message's content.

    With a `picture` it is that, and has no text.
    """

    text: str
    trusted: bool
    message: int | None = None
    picture: Picture | None = None

    def split(self, at: int) -> tuple[Segment, Segment]:
        """Before and from a character on."""
        return replace(self, text=self.text[:at]), replace(self, text=self.text[at:])


Frame: TypeAlias = tuple[str | int, ...]
"""A rendered template: its own text, and in between the indices of the messages."""


def marked_messages(roles: Sequence[str]) -> list[dict[str, Any]]:
    """Messages of these roles, a mark in place of each content.

    So nothing in a content can be mistaken for the template's own control tokens.
    """
    marks = Marks()
    return [{"role": role, "content": marks.mark("")} for role in roles]


def in_parts(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with each content as a list of parts, as templates of vision models may want it."""
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        for message in messages
    ]


def frame_of(text: str, roles: Sequence[str]) -> Frame:
    """The frame, from `marked_messages` as a template has rendered them.

    Raises `InputError` where a message is missing.
    """
    parts = MARK.split(text)
    frame = [int(part) if i % 2 else part for i, part in enumerate(parts)]
    _check_shown({*enumerate(roles)}, {part for part in frame if isinstance(part, int)})
    return tuple(part for part in frame if part != "")


def _check_shown(messages: set[tuple[int, str]], shown: set[int]) -> None:
    """Raise `InputError` where one of the messages (number, role) is not shown."""
    missing = {number: role for number, role in messages if number not in shown}
    if missing:
        raise InputError(
            f"the model's chat template drops the {missing[min(missing)]} message",
            hint="fold it into the user message",
        )


def closed_thought(text: str) -> str:
    """The rendered text, with an end to the thought that a template opens whatever is asked."""
    return f"{text}\n{CLOSES}{AFTER}" if text.rstrip().endswith(OPENS) else text


def segments_of(frame: Frame, prompt: Prompt) -> list[Segment]:
    """The prompt in order, the assistant's turn opened and begun with `prefill`."""
    segments = [
        Segment(part, True)
        if isinstance(part, str)
        else Segment(prompt.messages[part].content, False, part)
        for part in frame
    ]
    if prompt.prefill:
        segments.append(Segment(prompt.prefill, False))
    return segments


def with_pictures(segments: Sequence[Segment], prompt: Prompt) -> list[Segment]:
    """The segments with the messages' pictures in their places.

    Raises `InputError` where a message that has some is not shown as it is, or not once.
    """
    found: list[Segment] = []
    shown: list[int] = []
    for segment in segments:
        number = segment.message
        message = prompt.messages[number] if number is not None else None
        if number is None or message is None or not message.pictures:
            found.append(segment)
            continue
        if segment.text != message.content:
            continue
        shown.append(number)
        begin = 0
        for placed in message.pictures:
            found.append(Segment(message.content[begin : placed.at], False, number))
            found.append(Segment("", False, number, placed.picture))
            begin = placed.at
        found.append(Segment(message.content[begin:], False, number))
    if shown != [i for i, message in enumerate(prompt.messages) if message.pictures]:
        raise InputError("the model's chat template does not show each message with a picture once")
    return [segment for segment in found if segment.text or segment.picture]


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


class ChatTemplate:
    """Renders messages to segments. Raises `ModelError` for a template that does not compile."""

    def __init__(self, source: str | None, *, bos: str = "", eos: str = "") -> None:
        self.source = source or CHATML
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = tojson
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        try:
            self._template = environment.from_string(self.source)
        except TemplateError as error:
            raise ModelError(f"the model's chat template does not compile: {error}") from error
        self._specials = {"bos_token": bos, "eos_token": eos}
        # The frame depends on the roles only, and a job asks the same roles for every item.
        self._frame = lru_cache(maxsize=64)(self._render_frame)

    @property
    def thinks(self) -> bool:
        """Whether the template knows of thoughts before an answer."""
        return CLOSES in self.source

    @cached_property
    def call_texts(self) -> CallTexts | None:
        """What stands around calls of tools; None for a template that knows no tools."""
        return probed(lambda messages, tools: self._run(messages, tools=tools, opens=False))

    def _run(self, messages: Sequence[Any], *, opens: bool = True, **more: Any) -> str:
        return self._template.render(
            messages=messages,
            add_generation_prompt=opens,
            **{"enable_thinking": False, "tools": None} | self._specials | more,
        )

    def _rendered(self, messages: Sequence[Any], *, think: bool, **more: Any) -> str:
        """The text, the assistant's turn opened. Raises `InputError` where a template refuses."""
        try:
            text = self._run(messages, enable_thinking=think, **more)
        except Exception as error:  # a template is foreign code and can raise anything
            roles = ", ".join(message["role"] for message in messages)
            raise InputError(
                f"the model's chat template refuses these messages ({roles}): {error}"
            ) from error
        return text if think else closed_thought(text)

    def _render_frame(self, roles: tuple[str, ...], think: bool) -> Frame:
        """Contents are texts; where a template does not show these, lists of one part."""
        messages = marked_messages(roles)
        try:
            return frame_of(self._rendered(messages, think=think), roles)
        except InputError as error:
            try:
                return frame_of(self._rendered(in_parts(messages), think=think), roles)
            except InputError:
                raise error from error.__cause__

    def _segments_with_tools(self, prompt: Prompt, think: bool) -> list[Segment]:
        """A prompt in which tools stand. Nothing of it is kept: what they hold differs."""
        if self.call_texts is None:
            raise InputError(
                "the model's chat template knows no tools", hint="describe them in a message"
            )
        marks = Marks()
        text = self._rendered(
            chat_of(prompt.messages, marks),
            think=think,
            tools=[marks.value(orjson.loads(tool)) for tool in prompt.tools] or None,
            **{MARKS: marks},
        )
        segments: list[Segment] = []
        for i, part in enumerate(MARK.split(text)):
            if i % 2:
                segments.append(Segment(marks.texts[int(part)], False, marks.messages[int(part)]))
            elif part:
                segments.append(Segment(part, True))
        _check_shown(
            {(i, m.role) for i, m in enumerate(prompt.messages) if m.content or not m.calls},
            {segment.message for segment in segments if segment.message is not None},
        )
        if prompt.prefill:
            segments.append(Segment(prompt.prefill, False))
        return segments

    def segments(self, prompt: Prompt, *, think: bool = False) -> list[Segment]:
        """The prompt in order, the assistant's turn opened and begun with `prefill`.

        With `think` the model is let think first.
        """
        if not prompt.messages:
            raise InputError("the prompt has no message")
        if prompt.has_tools:
            segments = self._segments_with_tools(prompt, think)
        else:
            frame = self._frame(tuple(message.role for message in prompt.messages), think)
            segments = segments_of(frame, prompt)
        return with_pictures(segments, prompt) if prompt.has_pictures else segments

    def render(self, prompt: Prompt) -> str:
        """The prompt as one text, for people; a picture as its size."""
        return "".join(map(_for_people, self.segments(prompt)))


def _for_people(segment: Segment) -> str:
    picture = segment.picture
    if picture is None:
        return segment.text
    return f"[picture, {picture.width_px} x {picture.height_px}, {picture.sha256[:12]}]"
