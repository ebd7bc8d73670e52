"""What is asked while measuring: distinct prompts, by how well their answers can be guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain, zip_longest
from pathlib import Path

import orjson

from vedette.errors import FileError, InputError

SYSTEM = "You are a careful assistant."


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """A user's message; `workload` says what it is like, `id` names it in reports."""

    id: str
    workload: str
    text: str


WARM_UP = BenchPrompt(
    "warm-up",
    "warm-up",
    "Repeat the following line word for word, three times:\n\n"
    "The blue kettle stands on the stove, the red kettle stands on the shelf.",
)
"""Asked once before anything counts. Its answer repeats the prompt: whoever guesses, guesses."""


def bundled_prompts() -> tuple[BenchPrompt, ...]:
    """The prompts that come with vedette: code, JSON, prose, and copying or rewriting a text."""
    source = files("vedette.spec.bench").joinpath("prompts.jsonl")
    return parse_prompts(source.read_text("utf-8"), "prompts.jsonl")


def read_prompts(path: str) -> tuple[BenchPrompt, ...]:
    """Prompts of a JSONL file. Raises `FileError`, and `InputError` for what is no prompt."""
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text") from error
    return parse_prompts(text, path)


def parse_prompts(text: str, where: str) -> tuple[BenchPrompt, ...]:
    """A prompt for each line: `{"prompt": ..., "workload": ..., "id": ...}`, the last two optional.

    Raises `InputError` for a line that is none, and for a prompt or id that was there before: a
    server would have read it already.
    """
    prompts: list[BenchPrompt] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        prompt = _parse_line(line, number, f"{where}, line {number}")
        for what, value in (("prompt", prompt.text), ("id", prompt.id)):
            first = seen.setdefault(f"{what}:{value}", number)
            if first != number:
                raise InputError(
                    f"{where}, line {number}: the {what} of line {first} comes again",
                    hint="each has to be new, or it would be answered from a cache",
                )
        prompts.append(prompt)
    if not prompts:
        raise InputError(f"{where} has no prompts")
    return tuple(prompts)


def _parse_line(line: str, number: int, where: str) -> BenchPrompt:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON: {error.msg}") from error
    if not isinstance(row, dict):
        raise InputError(f"{where} is not an object")
    values = {"id": str(number), "workload": "own"} | row
    unknown = values.keys() - {"id", "workload", "prompt"}
    if unknown:
        raise InputError(
            f"{where} has the key {min(unknown)!r}", hint="the keys are prompt, workload and id"
        )
    for name in ("prompt", "workload", "id"):
        if not isinstance(values.get(name), str) or not values[name].strip():
            raise InputError(f"{where} has no {name}", hint=f'"{name}" is a text')
    return BenchPrompt(values["id"], values["workload"], values["prompt"])


def choose(prompts: Sequence[BenchPrompt], requests: int | None) -> tuple[BenchPrompt, ...]:
    """The first `requests` of each workload (None: all), the workloads taking turns.

    So a run that is cut short has about as many of each. Raises `InputError` where a workload has
    fewer.
    """
    by_workload: dict[str, list[BenchPrompt]] = {}
    for prompt in prompts:
        by_workload.setdefault(prompt.workload, []).append(prompt)
    if requests is not None:
        for name, own in by_workload.items():
            if not 1 <= requests <= len(own):
                raise InputError(
                    f"--requests is {requests}, and {name} has {len(own)} prompts",
                    hint="no prompt is asked twice; give more of them with --prompts",
                )
    rounds = zip_longest(*(own[:requests] for own in by_workload.values()))
    return tuple(prompt for prompt in chain(*rounds) if prompt is not None)
