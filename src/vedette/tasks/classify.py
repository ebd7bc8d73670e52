"""Text to one label, or several, by scoring: nothing is generated, nothing is parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend, Result
from vedette.decide.closed import Decision, decide, mean_prior
from vedette.errors import CapabilityMissing, InputTooLong, LabelError
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Scores, Usage

from .base import Steps
from .labels import Label, check_labels
from .prompt_data import fill, load_prompt, text_of

MAX_INPUT_TOKENS = 3500
YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A row with its right label (or labels), shown to the model before the item."""

    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Classify:
    """Implements `Task`: a label with probabilities for each text.

    `multi` asks of each label on its own whether it applies. `prior` corrects for the labels
    that the model prefers before it has read anything: `content-free` measures that once on texts
    that say nothing, `none` leaves the scores as they are; `multi` has no such correction.
    Raises `LabelError` for labels that cannot be used and for examples with other labels.
    """

    labels: tuple[Label, ...]
    examples: tuple[LabelledText, ...] = ()
    multi: bool = False
    prior: str = "content-free"
    instructions: str = ""
    name: str = field(default="classify", init=False)

    def __post_init__(self) -> None:
        check_labels(self.labels)
        if self.prior not in ("content-free", "none"):
            raise LabelError(f"prior must be content-free or none, not {self.prior!r}")
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
        described = any(label.description for label in self.labels)
        if described:
            listing = "\n".join(
                f"- {label.name}: {label.description}" if label.description else f"- {label.name}"
                for label in self.labels
            )
            system = fill(text_of("classify", "system_described"), labels=listing)
        else:
            system = fill(text_of("classify", "system"), labels=", ".join(self.names))
        messages = [Message("system", self._with_instructions(system))]
        for example in self.examples:
            messages.append(Message("user", self._user(example.text)))
            messages.append(Message("assistant", example.labels[0]))
        return tuple(messages)

    def _shared_multi(self) -> Iterator[Message]:
        """Each example is asked about each label, as the item will be."""
        yield Message("system", self._with_instructions(text_of("classify", "system_multi")))
        for example in self.examples:
            for label in self.labels:
                yield Message("user", self._user_multi(example.text, label))
                yield Message("assistant", YES_NO[label.name not in example.labels])

    def _with_instructions(self, system: str) -> str:
        return f"{system}\n{self.instructions}" if self.instructions else system

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
            "parameters": {"multi": self.multi, "prior": self.prior},
        }

    def prompt(self, text: str) -> Prompt:
        """The prompt for one text (of a single-label question)."""
        shared = self.shared_messages
        return Prompt(
            messages=(*shared, Message("user", self._user(text))), shared_messages=len(shared)
        )

    def request(self, text: str) -> ScoreRequest:
        """The question for one text."""
        return ScoreRequest(prompt=self.prompt(text), choices=self.names)

    def requests_multi(self, text: str) -> list[ScoreRequest]:
        """A yes/no question for each label."""
        shared = self.shared_messages
        asks = []
        for label in self.labels:
            user = Message("user", self._user_multi(text, label))
            prompt = Prompt(messages=(*shared, user), shared_messages=len(shared))
            asks.append(ScoreRequest(prompt=prompt, choices=YES_NO))
        return asks

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_score:
            raise CapabilityMissing("classify needs a backend that can score choices")
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
        if self.multi:
            results = yield self.requests_multi(item.text)
            return self._multi_answer(results)
        prior = self._priors.get(backend)
        free = [] if prior or self.prior == "none" else self._content_free()
        results = yield [self.request(item.text), *free]
        if free:
            prior = mean_prior([_scores(result).logprobs for result in results[1:]])
            self._priors[backend] = prior
        return self._answer(_scores(results[0]), prior)

    def _content_free(self) -> list[ScoreRequest]:
        texts = load_prompt("classify")["content_free"]
        return [self.request(text) for text in texts]

    def _answer(self, scores: Scores, prior: Sequence[float] | None) -> Answer:
        decision = decide(self.names, scores.logprobs, prior)
        return Answer(value=_as_json(decision), usage=scores.usage)

    def _multi_answer(self, results: Sequence[Result]) -> Answer:
        decisions = [decide(YES_NO, _scores(result).logprobs) for result in results]
        applies = {
            name: round(decision.probabilities[0], 4)
            for name, decision in zip(self.names, decisions, strict=True)
        }
        chosen: list[Json] = [name for name, p in applies.items() if p > 0.5]
        usage = sum((result.usage for result in results), Usage())
        return Answer(value={"labels": chosen, "probabilities": {**applies}}, usage=usage)


def _scores(result: Result) -> Scores:
    if not isinstance(result, Scores):
        raise TypeError("classify asked for scores")
    return result


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
