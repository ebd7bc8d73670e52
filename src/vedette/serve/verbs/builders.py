"""Tasks from flat options, where a task's own parameters are made of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from vedette.api.engine import Schema
from vedette.api.extraction import Extract
from vedette.tasks.extract import Extract as ExtractTask
from vedette.tasks.extract_thresholds import ExtractThresholds
from vedette.tasks.form import FillForm
from vedette.tasks.guard.policy import Policy
from vedette.tasks.guard.policy_file import DEFAULT, built_in
from vedette.tasks.guard.task import Guard
from vedette.tasks.guard.thresholds import GuardThresholds
from vedette.tasks.rewrite import Rewrite, rewriting
from vedette.types import Json, Sampling

form = partial(FillForm, known_column="known")
"""The form task; what is known of an input stands in it."""


def extract(
    schema: Schema,
    *,
    examples: Iterable[tuple[str, Json]] = (),
    instructions: str = "",
    max_tokens: int | None = None,
    prompt_schema: bool = True,
    thresholds: ExtractThresholds | None = None,
) -> ExtractTask:
    """The extract task, with thresholds that are no file."""
    task = Extract(
        schema,
        examples=examples,
        instructions=instructions,
        max_tokens=max_tokens,
        prompt_schema=prompt_schema,
    )
    return replace(task, thresholds=thresholds)


def guard(
    *,
    policies: tuple[Policy, ...] | None = None,
    rules_only: bool = False,
    thresholds: GuardThresholds | None = None,
) -> Guard:
    """The guard task; without `policies`, with the default ones."""
    return Guard(
        policies=tuple(map(built_in, DEFAULT)) if policies is None else policies,
        rules_only=rules_only,
        thresholds=thresholds,
    )


def rewrite(
    *,
    modes: tuple[str, ...] = ("query",),
    count: int | None = None,
    passages: int | None = None,
    instructions: str = "",
    temperature: float = 0.0,
    seed: int = 0,
) -> Rewrite:
    """The rewrite task. Raises what `rewriting` raises."""
    sampling = Sampling(temperature=temperature, seed=seed)
    return rewriting(modes, count, passages, instructions=instructions, sampling=sampling)
