"""Prompts are data files beside the tasks."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files

from vedette.types import Message, Prompt


@lru_cache(maxsize=32)
def load_prompt(task: str) -> dict[str, str | list[str]]:
    """The texts of `prompts/<task>.toml`."""
    source = files("vedette.tasks").joinpath("prompts", f"{task}.toml").read_text("utf-8")
    return tomllib.loads(source)


def text_of(task: str, key: str) -> str:
    """One text of a task's prompt file."""
    value = load_prompt(task)[key]
    if not isinstance(value, str):
        raise TypeError(f"prompts/{task}.toml: {key} must be a text")
    return value


def fill(template: str, **values: str) -> str:
    """Put values in place of `{name}`; braces in the values and elsewhere are left alone."""
    # In one pass: what a value brings along is never filled in itself.
    names = "|".join(map(re.escape, values))
    return re.sub("{(" + names + ")}", lambda found: values[found.group(1)], template)


def with_instructions(text: str, instructions: str) -> str:
    """What a task says, and the user's sentence after it, if there is one."""
    return f"{text}\n{instructions}" if instructions else text


def prompt_of(system: str, user: str) -> Prompt:
    """The system turn, which all items share, and the item's own."""
    messages = (Message("system", system), Message("user", user))
    return Prompt(messages=messages, shared_messages=1)
