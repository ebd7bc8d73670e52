"""Long contexts shortened to what matters, within a budget, before they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from vedette.backends.base import Backend
from vedette.backends.none import NoModel
from vedette.backends.tokenizers import TokenCounter, open_tokenizer
from vedette.batch.single import answer_item
from vedette.errors import InputError
from vedette.tasks.compress.task import Compress
from vedette.tasks.red_lines.rules import split_input
from vedette.types import Item, Json

from .messages import last_user_text, text_of, with_text
from .passage import Object
from .paths import beside_if_file
from .tables import CompressTable

SHORTENED = ("user", "tool")
"""Turns that bring texts along. What instructs, and what was answered, stays as it is."""
LEAST_TOKENS = 16


@dataclass(frozen=True)
class Compressor:
    """Shortens the longest texts by their own sentences, so that all have `budget` tokens."""

    budget: int
    counter: TokenCounter | Backend

    def shorten(self, body: Mapping[str, Any]) -> tuple[Object, int]:
        """The body, and how many tokens were left out.

        Raises `InputError` where what is not shortened is over the budget by itself.
        """
        messages = body["messages"]
        count = self.counter.count_tokens
        split = {
            i: _split(text_of(one)) for i, one in enumerate(messages) if one["role"] in SHORTENED
        }
        asked = sum(count(task) for task, _ in split.values())
        sizes = {i: count(context) for i, (_, context) in split.items()}
        if asked + sum(sizes.values()) <= self.budget:
            return dict(body), 0
        cap = _cap([*sizes.values()], self.budget - asked)
        if cap < LEAST_TOKENS:
            raise InputError(
                f"the request cannot be compressed to {self.budget} tokens: {asked} of them are "
                "what is asked, and too little is left for the texts",
                hint="raise budget_tokens of the route, or send less",
            )
        query = split_input(last_user_text(body))[0]
        shorter = list(messages)
        cut = 0
        for i, size in sizes.items():
            if size > cap:
                task, context = split[i]
                kept = self._shortened(context, query, cap)
                shorter[i] = with_text(messages[i], f"{task}\n{kept}" if task else kept)
                cut += size - count(kept)
        return {**body, "messages": shorter}, cut

    def _shortened(self, text: str, query: str, budget: int) -> str:
        task = Compress(query=query, budget=budget, tokenizer=self.counter)
        value = cast(dict[str, Json], answer_item(task, Item(id="1", text=text), NoModel()).value)
        return cast(str, value["text"])


def _split(text: str) -> tuple[str, str]:
    """What a turn asks, which stays, and what it brings along.

    A turn that is one piece is a context where it is long, and shortened as a whole.
    """
    task, pasted = split_input(text)
    if pasted:
        return task, pasted
    return "", text


def _cap(sizes: Sequence[int], budget: int) -> int:
    """The most tokens for each, so that together they are within the budget.

    Shorter ones stay whole and leave the others more.
    """
    left = budget
    for i, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - i)
        if size > share:
            return share
        left -= size
    return left


def open_compressor(table: CompressTable, backend: Backend, base: Path) -> Compressor:
    """The compressor of a route. Raises what its tokenizer raises."""
    name = table.tokenizer
    counter = open_tokenizer(beside_if_file(name, base)) if name else backend
    return Compressor(table.budget_tokens, counter)
