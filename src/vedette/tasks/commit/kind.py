"""The type of a change: by its files where they leave no doubt, by its verb, or by scores."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend, Result
from vedette.decide.closed import decide, mean_prior
from vedette.tasks.base import Ask
from vedette.tasks.labels import Label
from vedette.tasks.prompt_data import fill, load_prompt, text_of
from vedette.tasks.reply import scores_of
from vedette.types import Json, Message, Prompt, ScoreRequest, Usage

from .change_types import candidates, sure_type
from .diff import File


@dataclass(frozen=True, slots=True)
class Kind:
    """A type, and what decided: the files, the line's first word, or scores (probabilities)."""

    name: str
    by: Literal["files", "line", "score"]
    probabilities: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class KindQuestion:
    """Which of `types` a change is. What the model prefers whatever it reads is divided out."""

    types: tuple[Label, ...]

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, dict[tuple[Label, ...], list[float]]]:
        """By the types that are asked about; measured once for each backend of this process."""
        return WeakKeyDictionary()

    def answer(
        self, files: Sequence[File], prompt: Prompt, line: str, backend: Backend
    ) -> Generator[Sequence[Ask], Sequence[Result], tuple[Kind, Usage]]:
        """The type of the change that `prompt` shows, given the line that was written about it."""
        names = tuple(label.name for label in self.types)
        sure = sure_type(files, names)
        if sure is not None:
            return Kind(sure, "files"), Usage()
        asked = candidates(files, line, self.types)
        if len(asked) == 1:
            return Kind(asked[0].name, "line"), Usage()
        priors = self._priors.setdefault(backend, {})
        free = [] if asked in priors else [*load_prompt("commit")["content_free"]]
        prompts = [
            _after(prompt, line, asked),
            *(_after(_showing(prompt, text), text, asked) for text in free),
        ]
        choices = tuple(label.name for label in asked)
        results = yield [ScoreRequest(prompt=p, choices=choices) for p in prompts]
        scores = [scores_of(result) for result in results]
        if free:
            priors[asked] = mean_prior([s.logprobs for s in scores[1:]])
        decision = decide(choices, scores[0].logprobs, priors[asked])
        shares: dict[str, Json] = {
            name: round(p, 4) for name, p in zip(choices, decision.probabilities, strict=True)
        }
        usage = sum((s.usage for s in scores), Usage())
        return Kind(decision.best, "score", shares), usage


def _after(prompt: Prompt, line: str, asked: Sequence[Label]) -> Prompt:
    """The question behind the line that answered `prompt`."""
    listing = "\n".join(f"- {label.name}: {label.description}" for label in asked)
    question = fill(text_of("commit", "choose_type"), types=listing)
    turns = (*prompt.messages, Message("assistant", line), Message("user", question))
    return Prompt(turns, shared_messages=prompt.shared_messages)


def _showing(prompt: Prompt, text: str) -> Prompt:
    """The prompt with another change in its last turn."""
    turns = (*prompt.messages[:-1], Message("user", text))
    return Prompt(turns, shared_messages=len(turns) - 1)
