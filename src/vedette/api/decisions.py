"""Labels and closed questions, from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

from vedette.decide.question import ask as one_line
from vedette.decide.question import parse_questions
from vedette.tasks.calibrations import read_calibrations
from vedette.tasks.classifier import Method, classifier
from vedette.tasks.classify import Classify as ClassifyTask
from vedette.tasks.decide import Decide as DecideTask
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label, read_labels
from vedette.tasks.nearest.task import Nearest
from vedette.types import Json

from .items import one
from .shared import Answerer


def Classify(
    labels: Sequence[str] | dict[str, str] | str,
    *,
    examples: Iterable[tuple[str, str]] = (),
    multi: bool = False,
    evidence: bool = False,
    method: Method = "auto",
    out_of_scope: str = "",
    thresholds: str | None = None,
) -> ClassifyTask | Nearest:
    """The classify task, for `map`. `labels`: names, or names with descriptions.

    `method`: labels scored by the model, or by the nearest examples; `auto` goes by their number.
    With `out_of_scope` that name is answered where a text is far from all examples. `thresholds`:
    a file that `vedette calibrate` wrote.
    """
    return classifier(
        labels_of(labels),
        tuple(LabelledText(text, (label,)) for text, label in examples),
        multi=multi,
        evidence=evidence,
        method=method,
        out_of_scope=out_of_scope,
        calibrations=read_calibrations(thresholds) if thresholds is not None else None,
    )


def classify(
    text: str,
    labels: Sequence[str] | dict[str, str] | str,
    *,
    thresholds: str | None = None,
    escalate_to: Answerer | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """The label of one text, with the probability of each: keys `label`, `probabilities`, ...

    `backend`: see `extract`. One that cannot score gives a label without probabilities. With
    `thresholds`, a file that `vedette calibrate` wrote, `keep` says whether its promise covers the
    answer. Where it does not, `escalate_to`, the backend of a larger model, gives the answer;
    `tier` is the name of the model whose answer it is.
    """
    task = Classify(labels, thresholds=thresholds)
    return cast(dict[str, Json], one(task, text, model, backend, escalate_to))


async def aclassify(
    text: str,
    labels: Sequence[str] | dict[str, str] | str,
    *,
    thresholds: str | None = None,
    escalate_to: Answerer | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """`classify` for asyncio."""
    task = Classify(labels, thresholds=thresholds)
    answer = await asyncio.to_thread(one, task, text, model, backend, escalate_to)
    return cast(dict[str, Json], answer)


def Decide(
    questions: Sequence[str] | dict[str, Any],
    *,
    both_orders: bool = False,
    thresholds: str | None = None,
    explain: bool = False,
) -> DecideTask:
    """The decide task, for `map`.

    `questions`: lines such as `"Which team? billing|shipping"`, or an object in the form of the
    System One protocol. `thresholds` is a file that `vedette calibrate decide` wrote: each answer
    then has `keep`. `explain` adds what moved each answer.
    """
    if isinstance(questions, dict):
        typed = parse_questions(questions)
    else:
        typed = tuple(one_line(line, number) for number, line in enumerate(questions, start=1))
    return DecideTask(
        questions=typed,
        both_orders=both_orders,
        calibrations=read_calibrations(thresholds) if thresholds else None,
        explain=explain,
    )


def ask(
    text: str,
    questions: Sequence[str] | dict[str, Any],
    *,
    thresholds: str | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
    escalate_to: Answerer | None = None,
) -> dict[str, Json]:
    """The answer to each question about one text, by its id.

    `thresholds`: see `Decide`; with them `escalate_to`, the backend of a larger model, answers the
    questions that are not kept. `backend`: see `extract`.
    """
    task = Decide(questions, thresholds=thresholds)
    value = cast(dict[str, Json], one(task, text, model, backend, escalate_to))
    return cast(dict[str, Json], value["answers"])


def labels_of(labels: Sequence[str] | dict[str, str] | str) -> tuple[Label, ...]:
    """Labels from names, names with descriptions, or what `--labels` takes."""
    if isinstance(labels, str):
        return read_labels(labels)
    if isinstance(labels, dict):
        return tuple(Label(name, text) for name, text in labels.items())
    return tuple(Label(name) for name in labels)
