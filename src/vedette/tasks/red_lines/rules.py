"""What rules say of a task: which red line it crosses, by which words, and how clearly."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

SIMPLE = "simple"
LONG_DOCUMENT = "long document"
RED_KINDS = ("arithmetic", "reasoning", "facts", LONG_DOCUMENT)
_QUOTED = re.compile(
    r"""(?<![^\W_])(?:'[^']+'|"[^"]+"|‘[^’]+’)(?![^\W_])|“[^”]+”|「[^」]+」|«[^»]+»|`[^`]+`"""
)
# The words after the colon are what is to be worked on.
_WORKED_ON = re.compile(
    r"^(?:please )?(?:translate|rewrite|rephrase|shorten|correct|copy|put|turn|make)\b[^:]{0,40}:"
    r"|^(?:请)?(?:翻译|改写|改得|缩短|改正|照抄|把这句话|写成)[^:：]{0,20}[:：]",
    re.IGNORECASE,
)
INPUT_AFTER_CHARS = 40  # of what follows the first line, from which on it is a text to work on
MOST_TASK_CHARS = 1000  # of a line; what follows is a text to work on


@dataclass(frozen=True, slots=True)
class Rule:
    """Says `weight` (log odds) for `kind` where its pattern is found."""

    kind: str
    weight: float
    pattern: re.Pattern[str]
    without_input: bool = False


@dataclass(frozen=True, slots=True)
class Mixture:
    """How log odds become a chance, and the chance over which the route is up."""

    bias: float
    rules: float
    threshold: float
    model: float = 0.0


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules, the sentence for each kind, how they are weighed; `source` is their text."""

    rules: tuple[Rule, ...]
    reasons: Mapping[str, str]
    rules_only: Mixture
    with_model: Mixture
    source: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The red line that the rules say most for, their log odds for it, and the words they found.

    `log_odds` is negative where they say that the task is a simple one, 0 where they say nothing.
    """

    kind: str
    log_odds: float
    words: str = ""


@lru_cache(maxsize=1)
def load_rules() -> Rules:
    """The rules of `rules.toml`."""
    source = files("vedette.tasks.red_lines").joinpath("rules.toml").read_text("utf-8")
    data = tomllib.loads(source)
    simple = [_rule({**one, "kind": SIMPLE}) for one in data["simple"]]
    return Rules(
        rules=(*simple, *map(_rule, data["rules"])),
        reasons=data["reasons"],
        rules_only=Mixture(**data["rules_only"]),
        with_model=Mixture(**data["with_model"]),
        source=source,
    )


def _rule(data: Mapping[str, Any]) -> Rule:
    return Rule(
        kind=data["kind"],
        weight=data["weight"],
        pattern=re.compile(data["pattern"], re.IGNORECASE),
        without_input=data.get("without_input", False),
    )


def split_input(task: str) -> tuple[str, str]:
    """A task and the text that was pasted after it, which is empty where there is none.

    The task is the first line and, where it asks something, the last one.
    """
    first, _, rest = task.strip().partition("\n")
    first, over = first[:MOST_TASK_CHARS], first[MOST_TASK_CHARS:]
    lines = rest.split("\n")
    asks = lines[-1].rstrip().endswith(("?", "？")) and len(lines[-1]) <= MOST_TASK_CHARS
    last = lines.pop() if asks else ""
    pasted = "\n".join([over, *lines]).strip()
    if len(pasted) < INPUT_AFTER_CHARS:
        return " ".join(task.split()), ""
    return f"{first} {last}".strip(), pasted


def read(task: str, *, has_input: bool, may_be_long: bool) -> Evidence:
    """What the rules say of a task (one line). What it quotes does not count.

    `has_input`: a text to work on comes with it. `may_be_long`: that text is longer than a small
    model can use as a whole, or its length is not known.
    """
    told = _told(task)
    weights = dict.fromkeys((SIMPLE, *RED_KINDS), 0.0)
    words: dict[str, str] = {}
    for rule in load_rules().rules:  # of a kind's rules the strongest counts
        if (rule.without_input and has_input) or (rule.kind == LONG_DOCUMENT and not may_be_long):
            continue
        found = rule.pattern.search(task if rule.kind == SIMPLE else told)
        if found and rule.weight > weights[rule.kind]:
            weights[rule.kind], words[rule.kind] = rule.weight, found.group().strip()
    kind = max(RED_KINDS, key=lambda one: weights[one])
    log_odds = weights[kind] - weights[SIMPLE]
    return Evidence(kind, log_odds, words.get(kind, ""))


def _told(task: str) -> str:
    """The task without what it quotes or brings along to be worked on."""
    if found := _WORKED_ON.match(task):
        return found.group()
    return _QUOTED.sub('""', task)
