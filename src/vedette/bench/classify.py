"""`vedette bench classify`: scored labels against labels generated under a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jsonschema_rs

from vedette.errors import InputError
from vedette.tasks.classify import Classify
from vedette.types import Item, Json, ScoreRequest

from .bodies import label_body
from .client import PeerReply
from .contest import Contest, Say
from .measurement import Measurement
from .questions import Question
from .report import Judge, Report
from .runs import Reply, Run
from .served import PeerJob


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifyBench(Measurement):
    """A measurement to be made. Rows have their right label in the column `label_field`."""

    task: Classify
    label_field: str

    def run(self, say: Say) -> Report:
        """Measure. Raises what is wrong with the input first, `EngineFailed` for the peer."""
        prepared = self.prepare(self.task, say)
        questions = prepared.questions
        expected = right_labels(questions.items, self.label_field, self.task.names)
        job = PeerJob(
            items=tuple((label_body(_score(question)),) for question in questions.asked),
            warmup=tuple(label_body(_score(question)) for question in prepared.warmup),
            read=read_label,
        )
        contest = _labels_only(self.contest(self.task, prepared, job, say))
        labels: list[Json] = [*self.task.names]
        validator = jsonschema_rs.validator_for({"enum": labels})
        judge = Judge(validator=validator, expected=expected)
        return self.report("classify", prepared, contest, judge)


def right_labels(items: Sequence[Item], label_field: str, names: Sequence[str]) -> dict[str, Json]:
    """The right label by item id. Raises `InputError` for a label that is not in the list."""
    for item in items:
        label = item.columns[label_field]
        if label not in names:
            raise InputError(
                f"row {item.id} has the {label_field} {label!r}, which is not in the label list",
                hint=f"the labels are {', '.join(names)}",
            )
    if len({item.id for item in items}) < len(items):
        raise InputError("two rows have the same id, so their right labels cannot be told apart")
    return {item.id: item.columns[label_field] for item in items}


def read_label(replies: Sequence[PeerReply]) -> Reply:
    """A generated label, as it was written."""
    (reply,) = replies
    if reply.error:
        return Reply(error=reply.error, usage=reply.usage)
    return Reply(value=reply.text, usage=reply.usage)


def _labels_only(contest: Contest) -> Contest:
    """Of vedette's answers only the label, without probabilities."""
    return replace(contest, ours=tuple(map(_label_run, contest.ours)))


def _label_run(run: Run) -> Run:
    return replace(run, replies=tuple(map(_label_reply, run.replies)))


def _label_reply(reply: Reply) -> Reply:
    if isinstance(reply.value, dict):
        return replace(reply, value=reply.value.get("label"))
    return reply


def _score(question: Question) -> ScoreRequest:
    """The item's own question; what measures the prior may follow it."""
    first = question.asks[0]
    assert isinstance(first, ScoreRequest)
    return first
