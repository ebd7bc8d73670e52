"""Several closed questions about one text: it is read once, each question is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend, Identified
from vedette.decide.closed import decide, mean_logprobs, mean_prior
from vedette.decide.explain import explained
from vedette.decide.question import YES_NO_OPTIONS, Question, check_ids
from vedette.errors import CapabilityMissing, InputError
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Scores, Usage

from .base import Steps, Task
from .calibrations import Calibrations, key_of
from .decide_answer import answer_of, written_answer
from .prompt_data import fill, load_prompt, text_of, with_instructions
from .raw_scores import RawScores
from .reply import check_room, completion_of, scores_of
from .written_label import label_request

PRIORS = ("content-free", "none")


@dataclass(frozen=True)
class Decide:
    """Implements `Task`: `{"answers": {id: ...}}` for each text.

    A choice is answered with the likeliest option, a score with the mean level counted from 0,
    yes or no with the probability of yes. All share the prefill of the text. `prior` divides out
    what the model prefers before it has read anything, measured once for each question on texts
    that say nothing; `none` leaves the scores as they are. With `both_orders`, options are shown
    in reverse as well and the scores averaged, at the price of a second question each.
    `calibrations`, made for this model and these questions, take the place of the prior, and say of
    each answer whether it is kept. `explain` adds what moved each answer, and asks for that in
    reverse too. Numbers have `digits` decimals. On a backend that cannot score, the model writes
    each answer: there are no probabilities then, and the answer says so. Raises `InputError` for
    questions that cannot be asked together, and for calibrations of others.
    """

    questions: tuple[Question, ...]
    prior: str = "content-free"
    both_orders: bool = False
    instructions: str = ""
    calibrations: Calibrations | None = None
    explain: bool = False
    digits: int = 4
    name: str = field(default="decide", init=False)

    def __post_init__(self) -> None:
        check_ids(self.questions)
        if self.prior not in PRIORS:
            raise InputError(f"prior must be one of {', '.join(PRIORS)}, not {self.prior!r}")
        known = self.calibrations
        if known and set(known.questions) != {question.id for question in self.questions}:
            raise InputError(
                f"the threshold file is about {', '.join(known.questions)}, "
                f"and not about the questions that are asked",
                hint="ask those, or calibrate these",
            )

    @cached_property
    def _system(self) -> Message:
        return Message("system", with_instructions(text_of("decide", "system"), self.instructions))

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            **self._asked_as,
            "parameters": {
                "prior": self.prior,
                "both_orders": self.both_orders,
                **({"explain": True} if self.explain else {}),
                **({"calibrations": self.calibrations.identity} if self.calibrations else {}),
            },
        }

    @property
    def _asked_as(self) -> dict[str, Json]:
        """The questions, and how they are put."""
        return {
            "questions": [
                [q.id, q.kind, q.instructions, [[o.name, o.description] for o in q.options]]
                for q in self.questions
            ],
            "prompt": [
                self._system.content,
                *(text_of("decide", key) for key in ("text", "yes_no", "question", "answers")),
            ],
        }

    @property
    def why_text(self) -> str:
        """See `Sees`: it does not."""
        return ""

    def key(self, backend: Identified) -> str:
        """What a calibration is made for: the questions, the prompt, the orders and the model."""
        return key_of({**self._asked_as, "both_orders": self.both_orders}, backend)

    def raw_scores(self) -> Task:
        """The task whose answers are the log-probabilities of each question's options."""
        return RawScores(replace(self, prior="none", calibrations=None, explain=False))

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[list[float]]]:
        """Measured once for each backend of this process, a row for each of `_asked`."""
        return WeakKeyDictionary()

    @cached_property
    def _asked(self) -> list[Question]:
        """The questions as they are put: in both orders where that is wanted or explained."""
        wanted = self.both_orders or self.explain
        turned = [replace(q, options=q.options[::-1]) for q in self.questions if wanted]
        return [*self.questions, *turned]

    def requests(self, text: str) -> list[ScoreRequest]:
        """One for each of the questions, or two with `both_orders` or `explain`."""
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
        self._check(backend)
        if not item.text.strip():
            return Answer(value={"answers": {}}, extra={"empty": True})
        requests = self.requests(item.text)
        longest = max(requests, key=lambda request: len(request.prompt.messages[1].content))
        check_room(longest.prompt, 1, backend)
        if not backend.capabilities.can_score:
            return (yield from self._written(requests))
        known = self._priors.get(backend)
        free = self._content_free() if self._needs_prior and not known else []
        results = yield [*requests, *free]
        rows = [scores_of(result) for result in results]
        n = len(requests)
        if free:
            known = [mean_prior([row.logprobs for row in rows[n + i :: n]]) for i in range(n)]
            self._priors[backend] = known
        return self._answer(rows[:n], known)

    def _check(self, backend: Backend) -> None:
        """Raises what can be known before a text is read."""
        can = backend.capabilities
        if not (can.can_score or can.can_constrain):
            raise CapabilityMissing("decide needs a backend that can score or constrain")
        if not can.can_score and (self.both_orders or self.explain):
            raise CapabilityMissing("both orders and what moved an answer need scored choices")
        if self.calibrations is not None:
            if not can.can_score:
                raise CapabilityMissing("a threshold file needs a backend that can score choices")
            self.calibrations.check(self.name, self.key, backend)

    def _written(self, requests: Sequence[ScoreRequest]) -> Steps:
        results = yield [label_request(ask.prompt, ask.choices) for ask in requests]
        answers: dict[str, Json] = {
            question.id: written_answer(question, completion_of(result).text)
            for question, result in zip(self.questions, results, strict=True)
        }
        return Answer(
            value={"answers": answers}, usage=sum((result.usage for result in results), Usage())
        )

    @property
    def _needs_prior(self) -> bool:
        return self.prior != "none" and self.calibrations is None

    def _content_free(self) -> list[ScoreRequest]:
        return [
            ask for text in load_prompt("decide")["content_free"] for ask in self.requests(text)
        ]

    def _answer(self, rows: Sequence[Scores], priors: Sequence[Sequence[float]] | None) -> Answer:
        answers: dict[str, Json] = {}
        logprobs = [row.logprobs for row in rows]
        for i, question in enumerate(self.questions):
            prior = self._averaged(priors, i) if priors else None
            answers[question.id] = self._one_answer(question, logprobs, i, prior)
        usage = sum((row.usage for row in rows), Usage())
        return Answer(value={"answers": answers}, usage=usage)

    def _one_answer(
        self,
        question: Question,
        rows: Sequence[Sequence[float]],
        i: int,
        prior: Sequence[float] | None,
    ) -> dict[str, Json]:
        calibration = self.calibrations.questions[question.id] if self.calibrations else None
        scores = self._averaged(rows, i)
        if calibration is None:
            answer = answer_of(question, decide(question.names, scores, prior), self.digits)
        else:
            decision = calibration.decide(scores)
            answer = {
                **answer_of(question, decision, self.digits),
                "keep": calibration.keeps(decision),
            }
        if self.explain:
            turned = rows[len(self.questions) + i][::-1]
            answer["explain"] = explained(question.names, rows[i], prior, calibration, turned)
        return answer

    def _averaged(self, rows: Sequence[Sequence[float]], i: int) -> Sequence[float]:
        """The values of a question's options; with `both_orders` the mean of the two."""
        if not self.both_orders:
            return rows[i]
        return mean_logprobs([rows[i], rows[len(self.questions) + i][::-1]])

    def uncorrected(self, rows: Sequence[Scores]) -> dict[str, Json]:
        """See `Scored`: of each question's options, from the replies to `requests`."""
        logprobs = [row.logprobs for row in rows]
        return {q.id: [*self._averaged(logprobs, i)] for i, q in enumerate(self.questions)}


def _rendered(question: Question) -> str:
    """The question as the model reads it, with what can be answered."""
    if question.options == YES_NO_OPTIONS:
        return fill(text_of("decide", "yes_no"), instructions=question.instructions)
    if any(option.description for option in question.options):
        answers = "\n".join(
            f"- {option.name}: {option.description}" if option.description else f"- {option.name}"
            for option in question.options
        )
    else:
        answers = fill(text_of("decide", "answers"), names=", ".join(question.names))
    return fill(text_of("decide", "question"), instructions=question.instructions, answers=answers)
