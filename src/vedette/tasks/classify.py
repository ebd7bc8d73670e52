"""Text to one label, or several, by scoring: nothing is generated, nothing is parsed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend, Result
from vedette.decide.closed import Decision, decide, mean_prior
from vedette.errors import CapabilityMissing, InputTooLong, LabelError
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Scores, Usage

from .base import Steps, Task
from .evidence import evidence_of, evidence_request
from .labels import Label, check_labels
from .prompt_data import fill, load_prompt, text_of, with_instructions
from .reply import scores_of
from .written_label import label_request, label_value, labels_value

MAX_INPUT_TOKENS = 3500
YES_NO = ("yes", "no")
PRIORS = ("stream", "content-free", "none")
STUDY_ROWS = 64
LEAST_STUDY_ROWS = 16


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A row with its right label (or labels), shown to the model before the item."""

    text: str
    labels: tuple[str, ...]


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
    short answer each. On a backend that cannot score, the model writes the label: it has no
    probability then and no correction, and the answer says so.
    Raises `LabelError` for labels that cannot be used and for examples with other labels.
    """

    labels: tuple[Label, ...]
    examples: tuple[LabelledText, ...] = ()
    multi: bool = False
    prior: str = "stream"
    instructions: str = ""
    evidence: bool = False
    stream_prior: tuple[float, ...] | None = field(default=None, kw_only=True)
    known: dict[str, Answer] = field(default_factory=dict, kw_only=True, compare=False, repr=False)
    name: str = field(default="classify", init=False)

    def __post_init__(self) -> None:
        check_labels(self.labels)
        if self.prior not in PRIORS:
            raise LabelError(f"prior must be one of {', '.join(PRIORS)}, not {self.prior!r}")
        known = set(self.names)
        for example in self.examples:
            unknown = [label for label in example.labels if label not in known]
            if unknown:
                raise LabelError(
                    f"an example has the label {unknown[0]!r}, which is not in the list"
                )
            if not self.multi and len(example.labels) != 1:
                raise LabelError("an example must have exactly one label; use --multi for several")

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as they are answered."""
        return tuple(label.name for label in self.labels)

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[float]]:
        """Measured once for each backend of this process."""
        return WeakKeyDictionary()

    @cached_property
    def shared_messages(self) -> tuple[Message, ...]:
        """What every item's prompt begins with."""
        if self.multi:
            return tuple(self._shared_multi())
        listing = "\n".join(
            f"- {label.name}: {label.description}" if label.description else f"- {label.name}"
            for label in self.labels
        )
        system = fill(text_of("classify", "system"), labels=listing)
        messages = [Message("system", with_instructions(system, self.instructions))]
        for example in self.examples:
            messages.append(Message("user", self._user(example.text)))
            messages.append(Message("assistant", example.labels[0]))
        return tuple(messages)

    def _shared_multi(self) -> Iterator[Message]:
        """Each example is asked about each label, as the item will be."""
        yield Message(
            "system", with_instructions(text_of("classify", "system_multi"), self.instructions)
        )
        for example in self.examples:
            for label in self.labels:
                yield Message("user", self._user_multi(example.text, label))
                yield Message("assistant", YES_NO[label.name not in example.labels])

    @staticmethod
    def _user(text: str) -> str:
        return fill(text_of("classify", "user"), text=text)

    @staticmethod
    def _user_multi(text: str, label: Label) -> str:
        return fill(
            text_of("classify", "user_multi"),
            text=text,
            label=label.name,
            description=f" ({label.description})" if label.description else "",
        )

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "labels": [[label.name, label.description] for label in self.labels],
            "prompt": [[m.role, m.content] for m in self.shared_messages],
            "user": text_of("classify", "user_multi" if self.multi else "user"),
            "parameters": {
                "multi": self.multi,
                "prior": self.prior,
                "study_rows": self._study_rows,
                **({"evidence": text_of("classify", "evidence")} if self.evidence else {}),
            },
        }

    def prompt(self, text: str) -> Prompt:
        """The prompt for one text (of a single-label question)."""
        return self._prompt(Message("user", self._user(text)))

    def _prompt(self, user: Message) -> Prompt:
        shared = self.shared_messages
        # Where the text is asked about twice, it is kept as well.
        return Prompt((*shared, user), shared_messages=len(shared) + self.evidence)

    def request(self, text: str) -> ScoreRequest:
        """The question for one text."""
        return ScoreRequest(prompt=self.prompt(text), choices=self.names)

    def requests_multi(self, text: str) -> list[ScoreRequest]:
        """A yes/no question for each label."""
        users = (Message("user", self._user_multi(text, label)) for label in self.labels)
        return [ScoreRequest(prompt=self._prompt(user), choices=YES_NO) for user in users]

    @property
    def _study_rows(self) -> int:
        return STUDY_ROWS if self.prior == "stream" and not self.multi else 0

    def study_rows(self, backend: Backend) -> int:
        """See `Learner`: the stream's prior is the mean over this many texts, where they score."""
        return self._study_rows if backend.capabilities.can_score else 0

    @property
    def least_study_rows(self) -> int:
        """See `Learner`."""
        return LEAST_STUDY_ROWS

    def study_task(self) -> Task:
        """See `Learner`: the scores of the labels, uncorrected."""
        return _RawScores(replace(self, prior="none"))

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
        answer = yield from self._decided(item, backend)
        return (yield from self._with_evidence(item.text, answer)) if self.evidence else answer

    def _decided(self, item: Item, backend: Backend) -> Steps:
        if not backend.capabilities.can_score:
            return (yield from self._written(item.text))
        if self.multi:
            results = yield self.requests_multi(item.text)
            return self._multi_answer(results)
        if known := self.known.pop(item.text, None):
            scores = Scores(choices=self.names, logprobs=tuple(_logprobs(known)), usage=known.usage)
            return self._answer(scores, self.stream_prior)
        prior = self.stream_prior or self._priors.get(backend)
        free = [] if prior or self.prior == "none" else self._content_free()
        results = yield [self.request(item.text), *free]
        if free:
            prior = mean_prior([scores_of(result).logprobs for result in results[1:]])
            self._priors[backend] = prior
        return self._answer(scores_of(results[0]), prior)

    def _written(self, text: str) -> Steps:
        choices = YES_NO if self.multi else self.names
        questions = self.requests_multi(text) if self.multi else [self.request(text)]
        results = yield [label_request(question.prompt, choices) for question in questions]
        usage = sum((result.usage for result in results), Usage())
        if self.multi:
            return Answer(value=labels_value(self.names, YES_NO[0], results), usage=usage)
        return Answer(value=label_value(results), usage=usage)

    def _with_evidence(self, text: str, answer: Answer) -> Steps:
        value = cast(dict[str, Json], answer.value)
        if self.multi:
            chosen = cast(list[str], value["labels"])
            prompts = [ask.prompt for ask in self.requests_multi(text)]
            asked = [(label, prompts[self.names.index(label)], YES_NO[0]) for label in chosen]
        else:
            label = cast(str, value["label"])
            asked = [(label, self.prompt(text), label)]
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
        return [self.request(text) for text in texts]

    def _answer(self, scores: Scores, prior: Sequence[float] | None) -> Answer:
        decision = decide(self.names, scores.logprobs, prior)
        return Answer(value=_as_json(decision), usage=scores.usage)

    def _multi_answer(self, results: Sequence[Result]) -> Answer:
        decisions = [decide(YES_NO, scores_of(result).logprobs) for result in results]
        applies = {
            name: round(decision.probabilities[0], 4)
            for name, decision in zip(self.names, decisions, strict=True)
        }
        chosen: list[Json] = [name for name, p in applies.items() if p > 0.5]
        usage = sum((result.usage for result in results), Usage())
        return Answer(value={"labels": chosen, "probabilities": {**applies}}, usage=usage)


@dataclass(frozen=True, slots=True)
class _RawScores:
    """Implements `Task`: what a classification scores, before any correction."""

    task: Classify
    name: str = "classify"

    @property
    def identity(self) -> dict[str, Json]:
        return self.task.identity

    def steps(self, item: Item, backend: Backend) -> Steps:
        asking = self.task.steps(item, backend)
        results = yield next(asking)
        asking.close()
        scores = scores_of(results[0])
        return Answer(value=[*scores.logprobs], usage=scores.usage)


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
