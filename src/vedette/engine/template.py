"""The model's chat template, run in a sandbox, with the messages kept apart from its own text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import NoReturn, TypeAlias

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from vedette.errors import InputError, ModelError
from vedette.types import Prompt

from .thinking import AFTER, CLOSES, OPENS

# The form that a model without a template of its own gets.
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# Contents travel through the template as these marks, so that nothing in them can be mistaken
# for the template's own control tokens. Private-use characters, unlikely in a template.
_MARK = re.compile("\ue0f0(\\d+)\ue0f1")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the rendered prompt: the template's own (`trusted`), or a message's content."""

    text: str
    trusted: bool
    message: int | None = None

    def split(self, at: int) -> tuple[Segment, Segment]:
        """Before and from a character on."""
        return replace(self, text=self.text[:at]), replace(self, text=self.text[at:])


Frame: TypeAlias = tuple[str | int, ...]
"""A rendered template: its own text, and in between the indices of the messages."""


def marked_messages(roles: Sequence[str]) -> list[dict[str, str]]:
    """Messages of these roles, a mark in place of each content."""
    return [{"role": role, "content": f"\ue0f0{i}\ue0f1"} for i, role in enumerate(roles)]


def frame_of(text: str, roles: Sequence[str]) -> Frame:
    """The frame, from `marked_messages` as a template has rendered them.

    Raises `InputError` where a message is missing.
    """
    parts = _MARK.split(text)
    frame = [int(part) if i % 2 else part for i, part in enumerate(parts)]
    missing = set(range(len(roles))) - {part for part in frame if isinstance(part, int)}
    if missing:
        raise InputError(
            f"the model's chat template drops the {roles[min(missing)]} message",
            hint="fold it into the user message",
        )
    return tuple(part for part in frame if part != "")


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


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


class ChatTemplate:
    """Renders messages to segments. Raises `ModelError` for a template that does not compile."""

    def __init__(self, source: str | None, *, bos: str = "", eos: str = "") -> None:
        self.source = source or CHATML
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
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

    def _render_frame(self, roles: tuple[str, ...], think: bool) -> Frame:
        try:
            text = self._template.render(
                messages=marked_messages(roles),
                add_generation_prompt=True,
                enable_thinking=think,
                tools=None,
                **self._specials,
            )
        except Exception as error:  # a template is foreign code and can raise anything
            raise InputError(
                f"the model's chat template refuses these messages ({', '.join(roles)}): {error}"
            ) from error
        return frame_of(text if think else closed_thought(text), roles)

    def segments(self, prompt: Prompt, *, think: bool = False) -> list[Segment]:
        """The prompt in order, the assistant's turn opened and begun with `prefill`.

        With `think` the model is let think first.
        """
        if not prompt.messages:
            raise InputError("the prompt has no message")
        frame = self._frame(tuple(message.role for message in prompt.messages), think)
        return segments_of(frame, prompt)

    def render(self, prompt: Prompt) -> str:
        """The prompt as one text, for people."""
        return "".join(segment.text for segment in self.segments(prompt))
