"""The ways to decode that a plan compares: where the layers lie, how many guesses, how fast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vedette.engine.curve import CostCurve
from vedette.errors import InputError
from vedette.spec.layout import (
    Part,
    draft_parts,
    most_gpu_layers,
    projector_part,
    speeds_of,
    target_parts,
)
from vedette.spec.machine import Machine
from vedette.spec.memory import Setup
from vedette.spec.model_file import ModelFile
from vedette.spec.parameters import Parameters
from vedette.spec.predict import (
    Costs,
    catch_up_s,
    copying_speedup,
    draft_acceptance,
    expected_tokens,
)
from vedette.spec.ranges import Range
from vedette.spec.speed import StepTime

Method: TypeAlias = Literal["none", "draft-simple", "draft-mtp", "ngram-simple"]
_VOCAB_SLACK = 128  # tokens by which two vocabularies may differ for llama.cpp
_MEASURED_SPREAD = 0.1  # of a measured speed from one run to another


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a plan is asked: the models, how they are to run, and what is known of the text.

    `acceptance` is the chance of a guess whose predecessors were right, None for the published
    runs' figure. `copied` is the share of the output that stands in the prompt.
    """

    target: ModelFile
    draft: ModelFile | None
    projector_bytes: int
    machine: Machine
    setup: Setup
    draft_key_type: str
    draft_value_type: str
    acceptance: float | None
    copied: float
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to decode at its best draft length. Speeds are tokens a second of all sequences."""

    method: Method
    k: int
    gpu_layers: int
    draft_on_gpu: bool
    parts: tuple[Part, ...]
    acceptance: Range | None
    tokens_per_step: float
    costs: Costs
    tokens_per_s: Range
    speedup: Range

    @property
    def all_right(self) -> float:
        """The chance that all guesses of a step are right."""
        return self.acceptance.likely**self.k if self.acceptance and self.k else 0.0

    @property
    def step_s(self) -> float:
        """Seconds of a step."""
        return self.costs.step_s(self.k, self.all_right)

    @property
    def gpu_bytes(self) -> int:
        """On the GPU."""
        return sum(part.gpu_bytes for part in self.parts)

    @property
    def host_bytes(self) -> int:
        """In the machine's memory."""
        return sum(part.host_bytes for part in self.parts)


def around(n_bytes: int, error: float) -> Range:
    """A size with its interval."""
    return Range(n_bytes * (1 - error), n_bytes, n_bytes * (1 + error))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A way that was not compared, and why."""

    method: Method
    reason: str


class Evaluator:
    """Makes candidates for one question."""

    def __init__(self, question: Question, parameters: Parameters) -> None:
        self._ask = question
        self._parameters = parameters
        self._slow, self._speeds, self._fast = speeds_of(
            question.machine, parameters.fit, parameters.efficiency
        )
        self._room = question.machine.gpu_room_bytes

    def plain(self) -> Candidate:
        """Without guesses, with as many layers on the GPU as fit.

        Raises `InputError` if the projector does not fit there.
        """
        placed = self._place("none", 0, draft_on_gpu=False)
        if placed is None:
            raise InputError(
                "the projector does not fit into the GPU's memory",
                hint="plan without --mmproj, and run with --no-mmproj-offload",
            )
        parts, gpu_layers = placed
        costs = self._costs("none", gpu_layers, draft_on_gpu=False)
        return Candidate(
            method="none",
            k=0,
            gpu_layers=gpu_layers,
            draft_on_gpu=False,
            parts=parts,
            acceptance=None,
            tokens_per_step=1.0,
            costs=costs,
            tokens_per_s=self._plain_speed(gpu_layers, costs),
            speedup=Range(1.0, 1.0, 1.0),
        )

    def refusal(self, method: Method) -> str | None:
        """Why a way cannot be taken at all, or None."""
        ask = self._ask
        if method == "draft-mtp" and not ask.target.head_layers:
            return "the target has no prediction head (no nextn tensors)"
        if method == "draft-simple":
            if ask.draft is None:
                return "no draft model was given (--draft)"
            return vocabulary_problem(ask.target, ask.draft)
        return None

    def best(self, method: Method, plain: Candidate) -> Candidate | None:
        """The fastest placement and length of a way; None if nothing of it fits."""
        placements = (True, False) if method == "draft-simple" and self._room else (False,)
        found = [
            candidate
            for on_gpu in placements
            for k in range(1, self._ask.longest + 1)
            if (candidate := self.candidate(method, k, plain, draft_on_gpu=on_gpu))
        ]
        return max(found, key=lambda each: each.tokens_per_s.likely, default=None)

    def candidate(
        self, method: Method, k: int, plain: Candidate, *, draft_on_gpu: bool
    ) -> Candidate | None:
        """One way with k guesses a step; None if the draft does not fit."""
        placed = self._place(method, k, draft_on_gpu=draft_on_gpu)
        if placed is None:
            return None
        parts, gpu_layers = placed
        costs = self._costs(method, gpu_layers, draft_on_gpu=draft_on_gpu)
        chances = self.acceptance(method)
        errors = self._parameters.interval
        lost = plain.costs.plain_s() / costs.plain_s()
        if method == "ngram-simple":
            speedup = Range(
                *(
                    lost
                    * copying_speedup(
                        costs, k, copied=self._ask.copied, acceptance=chances.likely, as_measured=by
                    )
                    for by in (errors.speedup_low, 1.0, errors.speedup_high)
                )
            )
        else:
            gains = (
                lost * costs.speedup(k, expected_tokens([chance] * k), chance**k)
                for chance in (chances.low, chances.likely, chances.high)
            )
            speedup = Range(*gains).times(Range(errors.speedup_low, 1.0, errors.speedup_high))
        return Candidate(
            method=method,
            k=k,
            gpu_layers=gpu_layers,
            draft_on_gpu=draft_on_gpu,
            parts=parts,
            acceptance=chances,
            tokens_per_step=expected_tokens([chances.likely] * k),
            costs=costs,
            tokens_per_s=plain.tokens_per_s.times(speedup),
            speedup=speedup,
        )

    def acceptance(self, method: Method) -> Range:
        """The chance of a guess."""
        prior, given = self._parameters.acceptance, self._ask.acceptance
        if method == "ngram-simple":
            return Range(prior.copy, prior.copy, prior.copy)
        if given is not None:
            return Range(given, given, given)
        if method == "draft-mtp":
            return Range(prior.head_low, prior.head, prior.head_high)
        assert self._ask.draft is not None
        likely = draft_acceptance(
            self._parameters.fit,
            target_parameters=self._ask.target.n_parameters,
            draft_parameters=self._ask.draft.n_parameters,
        )
        return Range(
            max(0.01, likely - prior.draft_spread), likely, min(0.99, likely + prior.draft_spread)
        )

    def _place(
        self, method: Method, k: int, *, draft_on_gpu: bool
    ) -> tuple[tuple[Part, ...], int] | None:
        """What lies where; first the draft, then as many target layers as fit beside it."""
        ask, room = self._ask, self._room
        setup = replace(
            ask.setup,
            outputs=(k + 1) * ask.setup.sequences,
            undo_tokens=k if ask.target.is_recurrent else 0,
        )
        beside: list[Part] = []
        if method == "draft-simple" and ask.draft is not None:
            draft_setup = replace(
                ask.setup, key_type=ask.draft_key_type, value_type=ask.draft_value_type
            )
            beside += draft_parts(ask.draft, draft_setup, on_gpu=draft_on_gpu)
        if ask.projector_bytes:
            beside.append(projector_part(ask.projector_bytes, on_gpu=room > 0))
        left = room - sum(part.gpu_bytes for part in beside)
        if left < 0:
            return None
        with_head = method == "draft-mtp"
        gpu_layers = most_gpu_layers(ask.target, setup, left, with_head=with_head) if room else 0
        parts = target_parts(ask.target, setup, gpu_layers, with_head=with_head)
        return (*parts, *beside), gpu_layers

    def _costs(self, method: Method, gpu_layers: int, *, draft_on_gpu: bool) -> Costs:
        ask, sequences = self._ask, self._ask.setup.sequences
        target: StepTime = self._speeds.target(ask.target, gpu_layers)
        draft: StepTime | None = None
        if method == "draft-simple" and ask.draft is not None:
            draft = self._speeds.draft(ask.draft, on_gpu=draft_on_gpu)
        elif method == "draft-mtp":
            draft = self._speeds.head(ask.target, on_gpu=gpu_layers > 0)
        if measured := ask.machine.measured:
            share = 0.0
            if method == "draft-mtp":
                share = draft.seconds(1) / target.seconds(1) if draft else 0.0
                draft = _scaled(measured.target, share)
            elif method == "draft-simple":
                draft = measured.draft
            target = measured.target
        return Costs(
            target=target,
            draft_s=draft.seconds(sequences) if draft else 0.0,
            catch_up_s=catch_up_s(draft, sequences) if draft else 0.0,
            overhead_s=self._parameters.fit.overhead * target.seconds(1),
            sequences=sequences,
        )

    def _plain_speed(self, gpu_layers: int, costs: Costs) -> Range:
        sequences = self._ask.setup.sequences
        likely = sequences / costs.plain_s()
        if self._ask.machine.measured:
            return Range(likely * (1 - _MEASURED_SPREAD), likely, likely * (1 + _MEASURED_SPREAD))
        low, high = (
            sequences / speeds.target(self._ask.target, gpu_layers).seconds(sequences)
            for speeds in (self._slow, self._fast)
        )
        return Range(low, likely, high)


def vocabulary_problem(target: ModelFile, draft: ModelFile) -> str | None:
    """Why llama.cpp would refuse the draft for its vocabulary, as far as headers show it."""
    if target.tokenizer[0] != draft.tokenizer[0]:
        return (
            f"the draft's tokenizer is {draft.tokenizer[0] or 'not stated'}, "
            f"the target's {target.tokenizer[0] or 'not stated'}"
        )
    if abs(target.vocab_tokens - draft.vocab_tokens) > _VOCAB_SLACK:
        return (
            f"the draft has {draft.vocab_tokens} tokens, the target {target.vocab_tokens}: "
            f"more than {_VOCAB_SLACK} apart"
        )
    return None


def _scaled(step: StepTime, share: float) -> CostCurve:
    return CostCurve.of({n: step.seconds(n) * share for n in range(1, 65)})


def methods() -> Iterator[Method]:
    """The ways with guesses, in the order in which they are told."""
    yield "draft-mtp"
    yield "draft-simple"
    yield "ngram-simple"
