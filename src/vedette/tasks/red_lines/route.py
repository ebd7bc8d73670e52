"""Can a small model do this? A task description or question to a route, small or up."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend
from vedette.decide.closed import mean_prior, normalised
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Steps
from vedette.tasks.extract import WINDOW_TOKENS
from vedette.tasks.label_prompt import LabelledText, LabelPrompt
from vedette.tasks.labels import Label
from vedette.tasks.prompt_data import fill
from vedette.tasks.reply import check_room, scores_of
from vedette.types import Answer, Item, Json, ScoreRequest, Usage

from .rules import load_rules, read, split_input
from .verdict import judge

CONTENT_FREE = ("N/A", "[MASK]", "-")


@lru_cache(maxsize=1)
def _prompt_data() -> dict[str, Any]:
    source = files("vedette.tasks").joinpath("prompts", "red_lines.toml").read_text("utf-8")
    return tomllib.loads(source)


@dataclass(frozen=True)
class Route:
    """Implements `Task`: `{"route": "small" or "up", "kind", "probability", "reason"}`.

    The item's text is a task description or a question. Its column `input_column`, where there is
    one, is the text that the task is about: facts then may be asked for, and the whole of it may be
    needed if it has at most `WINDOW_TOKENS` tokens. Rules come first; a model scores what kind of
    work it is, unless `rules_only`.
    """

    rules_only: bool = False
    input_column: str | None = None
    name: str = field(default="route", init=False)

    @cached_property
    def _wording(self) -> LabelPrompt:
        data = _prompt_data()
        return LabelPrompt(
            labels=tuple(Label(name, meaning) for name, meaning in data["kinds"].items()),
            examples=tuple(
                LabelledText(self._user(one["task"], has_input=one["input"]), (one["kind"],))
                for one in data["examples"]
            ),
            instructions=data["instructions"],
        )

    @staticmethod
    def _user(task: str, *, has_input: bool) -> str:
        data = _prompt_data()
        given = data["with_input" if has_input else "without_input"]
        return fill(data["user"], task=task, **{"with": given})

    def request(self, task: str, *, has_input: bool) -> ScoreRequest:
        """The question about one task."""
        return self._wording.request(self._user(task, has_input=has_input))

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        found: dict[str, Json] = {
            "rules": load_rules().source,
            "parameters": {"rules_only": self.rules_only, "long_tokens": WINDOW_TOKENS},
        }
        if not self.rules_only:
            asked = self.request("{task}", has_input=True).prompt.messages
            found["prompt"] = [[m.role, m.content] for m in asked]
        return found

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[float]]:
        """Measured once for each backend of this process."""
        return WeakKeyDictionary()

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not self.rules_only and not backend.capabilities.can_score:
            raise CapabilityMissing("route needs a backend that can score choices, or --rules-only")
        if not item.text.strip():
            return Answer(value={"route": None}, extra={"empty": True})
        task, pasted = split_input(item.text)
        given = self._input_of(item) or pasted
        n_tokens = _estimated_tokens(given) if self.rules_only else backend.count_tokens(given)
        evidence = read(
            task, has_input=bool(given), may_be_long=not given or n_tokens > WINDOW_TOKENS
        )
        if self.rules_only:
            return Answer(value=judge(evidence).as_dict())
        request = self.request(task, has_input=bool(given))
        check_room(request.prompt, 1, backend)
        known = self._priors.get(backend)
        free = [] if known else [self.request(text, has_input=False) for text in CONTENT_FREE]
        rows = [scores_of(result) for result in (yield [request, *free])]
        if known is None:
            known = mean_prior([row.logprobs for row in rows[1:]])
            self._priors[backend] = known
        corrected = normalised(
            [v - p for v, p in zip(normalised(rows[0].logprobs), known, strict=True)]
        )
        model = dict(zip(self._wording.names, corrected, strict=True))
        usage = sum((row.usage for row in rows), Usage())
        return Answer(value=judge(evidence, model).as_dict(), usage=usage)

    def _input_of(self, item: Item) -> str:
        value = item.columns.get(self.input_column) if self.input_column else None
        if value is not None and not isinstance(value, str):
            raise InputError(f"row {item.id}: its {self.input_column} is {value!r}, not a text")
        return (value or "").strip()


def _estimated_tokens(text: str) -> int:
    """Tokens of a text where no tokenizer is at hand: four letters, or one Chinese character."""
    n_wide = sum(ord(char) > 0x2E7F for char in text)
    return n_wide + (len(text) - n_wide) // 4
