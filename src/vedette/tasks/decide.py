"""Several closed questions about one text: it is read once, each question is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend
from vedette.decide.closed import Decision, decide, mean_logprobs, mean_prior
from vedette.decide.confidence import choice_confidence, expected_level, score_confidence
from vedette.decide.question import Question, check_ids
from vedette.errors import CapabilityMissing, InputError
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Scores, Usage

from .base import Steps
from .prompt_data import fill, load_prompt, text_of, with_instructions
from .reply import check_room, scores_of

PRIORS = ("content-free", "none")


@dataclass(frozen=True)
class Decide:
    """Implements `Task`: `{"answers": {id: ...}}` for each text.

    A choice is answered with the likeliest option, a score with the mean level counted from 0,
    yes or no with the probability of yes. All share the prefill of the text. `prior` divides out
    what the model prefers before it has read anything, measured once for each question on texts
    that say nothing; `none` leaves the scores as they are. With `both_orders`, options are shown
    in reverse as well and the scores averaged, at the price of a second question each.
    Raises `InputError` for questions that cannot be asked together.
    """

    questions: tuple[Question, ...]
    prior: str = "content-free"
    both_orders: bool = False
    instructions: str = ""
    name: str = field(default="decide", init=False)

    def __post_init__(self) -> None:
        check_ids(self.questions)
        if self.prior not in PRIORS:
            raise InputError(f"prior must be one of {', '.join(PRIORS)}, not {self.prior!r}")

    @cached_property
    def _system(self) -> Message:
        return Message("system", with_instructions(text_of("decide", "system"), self.instructions))

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "questions": [
                [q.id, q.kind, q.instructions, [[o.name, o.description] for o in q.options]]
                for q in self.questions
            ],
            "prompt": [
                self._system.content,
                *(text_of("decide", key) for key in ("text", "question", "answers")),
            ],
            "parameters": {"prior": self.prior, "both_orders": self.both_orders},
        }

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[list[float]]]:
        """Measured once for each backend of this process, a row for each of `_asked`."""
        return WeakKeyDictionary()

    @cached_property
    def _asked(self) -> list[Question]:
        """The questions as they are put: in both orders where that is wanted."""
        turned = [replace(q, options=q.options[::-1]) for q in self.questions if self.both_orders]
        return [*self.questions, *turned]

    def requests(self, text: str) -> list[ScoreRequest]:
        """One for each of the questions, or two with `both_orders`."""
        before = fill(text_of("decide", "text"), text=text)
        return [
            ScoreRequest(
                prompt=Prompt(
                    (self._system, Message("user", before + _rendered(question))),
                    shared_messages=1,
                    shared_chars=len(before),
                ),
                choices=question.names,
            )
            for question in self._asked
        ]

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_score:
            raise CapabilityMissing("decide needs a backend that can score choices")
        if not item.text.strip():
            return Answer(value={"answers": {}}, extra={"empty": True})
        requests = self.requests(item.text)
        longest = max(requests, key=lambda request: len(request.prompt.messages[1].content))
        check_room(longest.prompt, 1, backend)
        known = self._priors.get(backend)
        free = [] if known or self.prior == "none" else self._content_free()
        results = yield [*requests, *free]
        rows = [scores_of(result) for result in results]
        n = len(requests)
        if free:
            known = [mean_prior([row.logprobs for row in rows[n + i :: n]]) for i in range(n)]
            self._priors[backend] = known
        return self._answer(rows[:n], known)

    def _content_free(self) -> list[ScoreRequest]:
        return [
            ask for text in load_prompt("decide")["content_free"] for ask in self.requests(text)
        ]

    def _answer(self, rows: Sequence[Scores], priors: Sequence[Sequence[float]] | None) -> Answer:
        answers: dict[str, Json] = {}
        for i, question in enumerate(self.questions):
            logprobs = self._both_ways([row.logprobs for row in rows], i)
            prior = self._both_ways(priors, i) if priors else None
            answers[question.id] = answer_of(question, decide(question.names, logprobs, prior))
        usage = sum((row.usage for row in rows), Usage())
        return Answer(value={"answers": answers}, usage=usage)

    def _both_ways(self, rows: Sequence[Sequence[float]], i: int) -> list[float]:
        """The values of a question's options; where it was put in both orders, their mean."""
        n = len(self.questions)
        return mean_logprobs([rows[i], *(row[::-1] for row in rows[n + i :: n])])


def _rendered(question: Question) -> str:
    """The question as the model reads it, with what can be answered."""
    if any(option.description for option in question.options):
        answers = "\n".join(
            f"- {option.name}: {option.description}" if option.description else f"- {option.name}"
            for option in question.options
        )
    else:
        answers = fill(text_of("decide", "answers"), names=", ".join(question.names))
    return fill(text_of("decide", "question"), instructions=question.instructions, answers=answers)


def answer_of(question: Question, decision: Decision) -> dict[str, Json]:
    """The answer as it goes over the wire: System One's keys, then margin and mass."""
    p = decision.probabilities
    answer: dict[str, Json]
    if question.kind == "noul":
        answer = {"type": "noul", "noul": round(p[0], 4)}
    elif question.kind == "choice":
        answer = {
            "type": "choice",
            "choice": decision.best,
            "probabilities": _rounded(question.names, p),
            "confidence": round(choice_confidence(p), 4),
        }
    else:
        levels = [str(i) for i in range(len(p))]
        answer = {
            "type": "score",
            "score": round(expected_level(p), 4),
            "legend": dict(zip(levels, question.names, strict=True)),
            "probabilities": _rounded(levels, p),
            "confidence": round(score_confidence(p), 4),
        }
    return {**answer, "margin": round(decision.margin, 4), "mass": round(decision.mass, 4)}


def _rounded(names: Sequence[str], probabilities: Sequence[float]) -> dict[str, Json]:
    return {name: round(p, 4) for name, p in zip(names, probabilities, strict=True)}
