"""A text of a given length with facts at given depths, and a question about each."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from vedette.tasks.prompt_data import fill
from vedette.types import Message, Prompt, ScoreRequest

MOST_DEPTHS = 32
_AROUND_TOKENS = 64  # system turn, question and template


@lru_cache(maxsize=1)
def _texts() -> dict[str, str | list[str]]:
    source = files("vedette.evaluate.context").joinpath("texts.toml").read_text("utf-8")
    return tomllib.loads(source)


def _text(key: str) -> str:
    return str(_texts()[key])


@dataclass(frozen=True, slots=True)
class Fact:
    """What is asked for. `depth` is where it stands, from 0 (the beginning) to 1 (the end)."""

    depth: float
    thing: str
    number: str

    @property
    def sentence(self) -> str:
        """As the text says it."""
        return fill(_text("fact"), thing=self.thing, number=self.number)


@dataclass(frozen=True, slots=True)
class Document:
    """The text and its facts, in order."""

    text: str
    facts: tuple[Fact, ...]

    def request(self, fact: Fact) -> ScoreRequest:
        """Which of the text's numbers is this thing's? The text is shared by all questions."""
        user = self.text + fill(_text("question"), thing=fact.thing)
        return ScoreRequest(
            prompt=Prompt(
                (Message("system", _text("system")), Message("user", user)),
                shared_messages=1,
                shared_chars=len(self.text),
            ),
            choices=tuple(sorted(one.number for one in self.facts)),
        )


def document(
    n_tokens: int, depths: Sequence[float], seed: int, count_tokens: Callable[[str], int]
) -> Document:
    """A text that makes a prompt of about `n_tokens`, never more, with a fact at each depth.

    All facts have the same form, so that finding one means telling it from the others.
    """
    source = random.Random(f"{seed} {n_tokens}")
    facts = _facts(depths, source)
    taken = _AROUND_TOKENS + sum(count_tokens(" " + fact.sentence) for fact in facts)
    sentences: list[str] = []
    while True:
        one = _filler(source)
        taken += count_tokens(" " + one)
        if taken > n_tokens:
            break
        sentences.append(one)
    parts: list[str] = []
    n, at = len(sentences), 0
    for fact in facts:
        place = round(fact.depth * n)
        parts += [*sentences[at:place], fact.sentence]
        at = place
    return Document(" ".join([*parts, *sentences[at:]]), tuple(facts))


def _facts(depths: Sequence[float], source: random.Random) -> list[Fact]:
    things = [
        f"{colour} {thing}" for colour in _texts()["colours"] for thing in _texts()["objects"]
    ]
    numbers = source.sample(range(1000, 10000), len(depths))
    chosen = source.sample(things, len(depths))
    return [
        Fact(depth, thing, str(number))
        for depth, thing, number in zip(sorted(depths), chosen, numbers, strict=True)
    ]


def _filler(source: random.Random) -> str:
    who, what, where = (source.choice(_texts()[key]) for key in ("who", "what", "where"))
    return fill(_text("filler"), who=who, what=what, where=where)
