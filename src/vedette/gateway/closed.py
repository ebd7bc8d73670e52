"""Closed questions with thresholds, asked of the local model one text at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vedette.api.decisions import labels_of
from vedette.backends.base import Backend
from vedette.batch.single import answer_item
from vedette.decide.question import ask as one_line
from vedette.errors import CapabilityMissing, InputError, InputTooLong
from vedette.tasks.calibrations import read_calibrations
from vedette.tasks.classify import Classify
from vedette.tasks.decide import Decide
from vedette.tasks.examples import label_examples
from vedette.tasks.gate import GatedClassify, GatedDecide, Subject, Verdict
from vedette.types import Item, Json, Usage

from .choice import NOT_ASKED, unsure
from .paths import beside, text_beside
from .tables import ClosedTable


@dataclass(frozen=True, slots=True)
class Told:
    """What the model answered; `verdict` is None for a text that it cannot be asked about."""

    verdict: Verdict | None
    usage: Usage = field(default_factory=Usage)

    @property
    def reason(self) -> str:
        """Why it is not kept, as a code."""
        if self.verdict is None:
            return NOT_ASKED
        return unsure(self.verdict.confidence)


@dataclass(frozen=True)
class Closed:
    """One question. Only what its calibration keeps is to be believed."""

    subject: Subject
    backend: Backend

    @property
    def identity(self) -> Json:
        """What its answers depend on."""
        return self.subject.task.identity

    @property
    def answers(self) -> tuple[str, ...]:
        """What can be answered."""
        (calibration,) = self.subject.calibrations.questions.values()
        return calibration.choices

    def ask(self, text: str) -> Told:
        """Ask it about a text. Raises what the model's answer raises."""
        try:
            answer = answer_item(self.subject.task, Item(id="1", text=text), self.backend)
        except InputTooLong:
            return Told(None)
        verdicts = list(self.subject.verdicts(answer.value).values())
        return Told(verdicts[0] if verdicts else None, answer.usage)


def open_closed(table: ClosedTable, backend: Backend, base: Path, where: str) -> Closed:
    """The question of a table; `where` is its key.

    Raises `InputError` for one that cannot be asked, `CalibrationMismatch` for thresholds that were
    made for another model, prompt or answers, `CapabilityMissing` for a model that cannot score.
    """
    if (table.ask is None) == (table.labels is None):
        raise InputError(f"{where} must have ask or labels, and not both")
    if table.ask is not None and table.examples is not None:
        raise InputError(f"{where}.examples go with labels, not with ask")
    if not backend.capabilities.can_score:
        raise CapabilityMissing(
            f"{where} needs a local model that can score choices", hint="serve with --backend local"
        )
    calibrations = read_calibrations(beside(table.thresholds, base))
    subject: Subject
    if table.labels is not None:
        labels = table.labels
        rows = text_beside(table.examples, base, "examples") if table.examples else ""
        classify = Classify(
            labels=labels_of(beside(labels, base) if isinstance(labels, str) else labels),
            examples=label_examples(rows, str(table.examples)) if rows else (),
            instructions=table.instructions,
            calibrations=calibrations,
        )
        calibrations.check(classify.name, classify.key, backend)
        subject = GatedClassify(classify)
    else:
        decide = Decide(
            questions=(one_line(str(table.ask)),),
            instructions=table.instructions,
            calibrations=calibrations,
        )
        calibrations.check(decide.name, decide.key, backend)
        subject = GatedDecide(decide)
    return Closed(subject, backend)
