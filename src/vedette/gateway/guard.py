"""Texts of a request held against policies before anything else happens to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from vedette.backends.base import Backend
from vedette.backends.none import NoModel
from vedette.batch.single import answer_item
from vedette.errors import GuardBlocked
from vedette.tasks.guard.policy_file import allowing, find_policy
from vedette.tasks.guard.task import Guard as GuardTask
from vedette.tasks.guard.thresholds import read_thresholds
from vedette.types import Item, Json

from .messages import texts_by
from .paths import beside, beside_if_file
from .tables import GuardTable


@dataclass(frozen=True)
class Guard:
    """Every turn but those that instruct is looked at on its own: tools' results too."""

    task: GuardTask
    backend: Backend
    blocks: bool

    def look(self, body: Mapping[str, Any]) -> str:
        """The policy that is broken, or nothing. Raises `GuardBlocked` where that is not let in.

        Raises what the model's answers raise: a text that could not be read is not let in.
        """
        for text in texts_by(body, instructing=False):
            answer = answer_item(self.task, Item(id="1", text=text), self.backend)
            value = cast(dict[str, Json], answer.value)
            if not value["flagged"]:
                continue
            policy = str(value["policy"])
            if self.blocks:
                raise GuardBlocked(
                    f"the request breaks the policy {policy}",
                    hint="it was not passed on",
                )
            return policy
        return ""


def open_guard(table: GuardTable, backend: Backend, base: Path) -> Guard:
    """The guard of a route. Raises what its policies and thresholds raise."""
    policies = tuple(
        allowing(find_policy(beside_if_file(name, base)), table.allow, "allow")
        for name in table.policies
    )
    thresholds = read_thresholds(beside(table.thresholds, base)) if table.thresholds else None
    task = GuardTask(policies=policies, rules_only=table.rules_only, thresholds=thresholds)
    asked = NoModel() if table.rules_only else backend
    if thresholds is not None:
        thresholds.check(task.key, asked)
    return Guard(task, asked, table.action == "block")
