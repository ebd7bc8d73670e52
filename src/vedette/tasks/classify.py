"""Text to one label, or several, by scoring: nothing is generated, nothing is parsed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend, Identified, Result
from vedette.decide.closed import Decision, decide, mean_prior
from vedette.decide.explain import explained
from vedette.decide.question import YES_NO
from vedette.errors import CapabilityMissing, InputTooLong, LabelError
from vedette.types import Answer, Item, Json, ScoreRequest, Scores, Usage

from .base import Steps, Task
from .calibrations import Calibrations, key_of
from .evidence import evidence_of, evidence_request
from .label_prompt import LabelledText, LabelPrompt
from .labels import Label
from .prompt_data import load_prompt, text_of
from .raw_scores import RawScores
from .reply import scores_of
from .written_label import label_request, label_value, labels_value

QUESTION = "label"  # the name of the one question of a classification
MAX_INPUT_TOKENS = 3500
PRIORS = ("stream", "content-free", "none")
STUDY_ROWS = 64
LEAST_STUDY_ROWS = 16


@dataclass(frozen=True)
class Classify:
    """Implements `Task`: a label with probabilities for each text.

    `multi` asks of each label on its own whether it applies. `prior` corrects for the labels
    that the model prefers whatever it reads: `stream` takes the mean over the first `STUDY_ROWS`
    different texts of a job (batch calibration, Zhou et al. 2023, arXiv 2309.17249), which
    supposes that they are a fair mixture; `content-free` measures it once on texts that say
    nothing, as `stream` does too where there are fewer than `LEAST_STUDY_ROWS`; `none` leaves
    the scores as they are. `multi` has no such correction. `evidence` has the model copy the words
    of the text that its label (each label that applies, with `multi`) rests on, which costs one
    short answer each. `calibrations`, made for this model and these labels, take the place of the
    prior, and say of each answer whether it is kept. `explain` adds what moved each answer.
    On a backend that cannot score, the model writes the label: it has no
    probability then and no correction, and the answer says so.
    Raises `LabelError` for labels that cannot be used and for examples with other labels.
    """

    labels: tuple[Label, ...]
    examples: tuple[LabelledText, ...] = ()
    multi: bool = False
    prior: str = "stream"
    instructions: str = ""
    evidence: bool = False
    calibrations: Calibrations | None = None
    explain: bool = False
    stream_prior: tuple[float, ...] | None = field(default=None, kw_only=True)
    known: dict[str, Answer] = field(default_factory=dict, kw_only=True, compare=False, repr=False)
    name: str = field(default="classify", init=False)

    def __post_init__(self) -> None:
        if self.prior not in PRIORS:
            raise LabelError(f"prior must be one of {', '.join(PRIORS)}, not {self.prior!r}")
        self.wording  # noqa: B018 - finds what is wrong with the labels
        if self.calibrations and (self.multi or set(self.calibrations.questions) != {QUESTION}):
            raise LabelError("a threshold file goes with single labels, and with one question")
        if self.explain and self.multi:
            raise LabelError("with several labels nothing is corrected, so nothing is explained")

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as they are answered."""
        return self.wording.names

    @cached_property
    def wording(self) -> LabelPrompt:
        """What is said to the model."""
        return LabelPrompt(self.labels, self.examples, self.multi, self.instructions, self.evidence)

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[float]]:
        """Measured once for each backend of this process."""
        return WeakKeyDictionary()

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "labels": [[label.name, label.description] for label in self.labels],
            "prompt": [[m.role, m.content] for m in self.wording.shared_messages],
            "user": text_of("classify", "user_multi" if self.multi else "user"),
            "parameters": {
                **({"calibrations": self.calibrations.identity} if self.calibrations else {}),
                "multi": self.multi,
                "prior": self.prior,
                "study_rows": self._study_rows,
                **({"evidence": text_of("classify", "evidence")} if self.evidence else {}),
                **({"explain": True} if self.explain else {}),
            },
        }

    @property
    def why_text(self) -> str:
        """See `Sees`."""
        return "evidence is copied from the text" if self.evidence else ""

    @property
    def has_prior(self) -> bool:
        """Whether the scores lean towards some labels whatever the text is."""
        return True

    def key(self, backend: Identified) -> str:
        """What a calibration is made for: the prompts, the labels and the model."""
        shared = [[m.role, m.content] for m in self.wording.shared_messages]
        return key_of([*self.names, *shared, text_of("classify", "user")], backend)

    def raw_scores(self) -> Task:
        """The task whose answers are the log-probabilities of `names`, uncorrected."""
        return RawScores(replace(self, prior="none", calibrations=None))

    def uncorrected(self, rows: Sequence[Scores]) -> Json:
        """See `Scored`: of `names`, in their order."""
        (row,) = rows
        return [*row.logprobs]

    @property
    def _study_rows(self) -> int:
        is_asked = self.prior == "stream" and not self.multi and self.calibrations is None
        return STUDY_ROWS if is_asked else 0

    def study_rows(self, backend: Backend) -> int:
        """See `Learner`: the stream's prior is the mean over this many texts, where they score."""
        return self._study_rows if backend.capabilities.can_score else 0

    @property
    def least_study_rows(self) -> int:
        """See `Learner`."""
        return LEAST_STUDY_ROWS

    def study_task(self) -> Task:
        """See `Learner`: the scores of the labels, uncorrected."""
        return self.raw_scores()

    def learnt(self, answers: Sequence[Answer]) -> Json:
        """See `Learner`: log of the mean probability of each label."""
        if not answers:
            return None
        return [*mean_prior([_logprobs(answer) for answer in answers])]

    def told(self, finding: Json) -> str:
        """See `Learner`."""
        shares = ", ".join(
            f"{name} {math.exp(value):.2f}"
            for name, value in zip(self.names, cast(list[float], finding or ()), strict=False)
        )
        return f"prior over the first texts, divided out: {shares or 'none'}"

    def knowing(self, finding: Json, answers: Mapping[str, Answer]) -> Task:
        """See `Learner`."""
        if finding is None:
            return self
        prior = tuple(cast(list[float], finding))
        return replace(self, stream_prior=prior, known=dict(answers))

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        can = backend.capabilities
        if not (can.can_score or can.can_constrain):
            raise CapabilityMissing("classify needs a backend that can score or constrain")
        if self.explain and not can.can_score:
            raise CapabilityMissing("only scores can be explained, and this backend has none")
        if self.evidence and not can.can_copy:
            raise CapabilityMissing(
                "evidence needs a backend that can hold an answer to spans of the input",
                hint="use --backend local",
            )
        if not item.text.strip():
            value: Json = [] if self.multi else None
            return Answer(value={"labels" if self.multi else "label": value}, extra={"empty": True})
        n_tokens = backend.count_tokens(item.text)
        limit = min(MAX_INPUT_TOKENS, backend.capabilities.context_tokens - 256)
        if n_tokens > limit:
            raise InputTooLong(
                f"the text has {n_tokens} tokens; a label can be trusted up to {limit}",
                hint="split the text, or classify a summary of it",
            )
        if self.calibrations is not None:
            if not can.can_score:
                raise CapabilityMissing("a threshold file needs a backend that can score choices")
            self.calibrations.check(self.name, self.key, backend)
        answer = yield from self._decided(item, backend)
        return (yield from self._with_evidence(item.text, answer)) if self.evidence else answer

    def _decided(self, item: Item, backend: Backend) -> Steps:
        if not backend.capabilities.can_score:
            return (yield from self._written(item.text))
        if self.multi:
            results = yield self.wording.requests_multi(item.text)
            return self._multi_answer(results)
        if known := self.known.pop(item.text, None):
            scores = Scores(choices=self.names, logprobs=tuple(_logprobs(known)), usage=known.usage)
            return self._answer(scores, self.stream_prior)
        prior = self.stream_prior or self._priors.get(backend)
        needs_prior = not prior and self.prior != "none" and self.calibrations is None
        free = self._content_free() if needs_prior else []
        results = yield [self.wording.request(item.text), *free]
        if free:
            prior = mean_prior([scores_of(result).logprobs for result in results[1:]])
            self._priors[backend] = prior
        return self._answer(scores_of(results[0]), prior)

    def _written(self, text: str) -> Steps:
        choices = YES_NO if self.multi else self.names
        wording = self.wording
        questions = wording.requests_multi(text) if self.multi else [wording.request(text)]
        results = yield [label_request(question.prompt, choices) for question in questions]
        usage = sum((result.usage for result in results), Usage())
        if self.multi:
            return Answer(value=labels_value(self.names, YES_NO[0], results), usage=usage)
        return Answer(value=label_value(results), usage=usage)

    def _with_evidence(self, text: str, answer: Answer) -> Steps:
        value = cast(dict[str, Json], answer.value)
        if self.multi:
            chosen = cast(list[str], value["labels"])
            prompts = [ask.prompt for ask in self.wording.requests_multi(text)]
            asked = [(label, prompts[self.names.index(label)], YES_NO[0]) for label in chosen]
        else:
            label = cast(str, value["label"])
            asked = [(label, self.wording.prompt(text), label)]
        results = yield [
            evidence_request(prompt, said, label, text) for label, prompt, said in asked
        ]
        found: dict[str, Json] = {
            label: evidence_of(result, text)
            for (label, _, _), result in zip(asked, results, strict=True)
        }
        usage = sum((result.usage for result in results), answer.usage)
        evidence = found if self.multi else found[asked[0][0]]
        return replace(answer, value={**value, "evidence": evidence}, usage=usage)

    def _content_free(self) -> list[ScoreRequest]:
        texts = load_prompt("classify")["content_free"]
        return [self.wording.request(text) for text in texts]

    def _answer(self, scores: Scores, prior: Sequence[float] | None) -> Answer:
        calibration = self.calibrations.questions[QUESTION] if self.calibrations else None
        if calibration is None:
            value = _as_json(decide(self.names, scores.logprobs, prior))
        else:
            decision = calibration.decide(scores.logprobs)
            value = {**_as_json(decision), "keep": calibration.keeps(decision)}
        if self.explain:
            value["explain"] = explained(self.names, scores.logprobs, prior, calibration)
        return Answer(value=value, usage=scores.usage)

    def _multi_answer(self, results: Sequence[Result]) -> Answer:
        decisions = [decide(YES_NO, scores_of(result).logprobs) for result in results]
        applies = {
            name: round(decision.probabilities[0], 4)
            for name, decision in zip(self.names, decisions, strict=True)
        }
        chosen: list[Json] = [name for name, p in applies.items() if p > 0.5]
        usage = sum((result.usage for result in results), Usage())
        return Answer(value={"labels": chosen, "probabilities": {**applies}}, usage=usage)


def _logprobs(answer: Answer) -> list[float]:
    return cast(list[float], answer.value)


def _as_json(decision: Decision) -> dict[str, Json]:
    return {
        "label": decision.best,
        "probability": round(decision.probability, 4),
        "margin": round(decision.margin, 4),
        "mass": round(decision.mass, 4),
        "probabilities": {
            name: round(p, 4)
            for name, p in zip(decision.choices, decision.probabilities, strict=True)
        },
    }
