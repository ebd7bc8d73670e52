"""Whether to guess, how, and why: the candidates of a question, and a verdict with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vedette.errors import InputError
from vedette.models.units import human_bytes
from vedette.spec.candidates import Candidate, Evaluator, Method, Question, Refusal, methods
from vedette.spec.parameters import Parameters, parameters
from vedette.spec.predict import copying_speedup

# A speed-up of less is none: it lies within what runs differ by, and costs memory.
MARGIN = 0.05
MOST_GUESSES = 256  # a step; each is planned, and no build drafts as many

Reason: TypeAlias = Literal["checking", "draft", "acceptance", "memory", "copies"]
_MOST_MORE_BYTES = 64 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """On or off, whether the interval leaves no doubt, what decides it, what would flip it.

    `told` is the way that the reason is about: the chosen one, or the best that was not.
    """

    speculate: bool
    is_sure: bool
    method: Method
    k: int
    told: Method
    binding: Reason | None
    why: str
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The candidates, fastest first, those that were refused, and the verdict."""

    question: Question
    plain: Candidate
    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]
    verdict: Verdict

    @property
    def chosen(self) -> Candidate:
        """What the verdict says to do."""
        if not self.verdict.speculate:
            return self.plain
        return next(each for each in self.candidates if each.method == self.verdict.method)


def make_plan(
    question: Question,
    using: Parameters | None = None,
    *,
    unsupported: Mapping[Method, str] | None = None,
) -> Plan:
    """Compare all ways that can be taken; `unsupported` has those that a build does not know.

    Raises `InputError` if the target does not fit into the machine at all.
    """
    numbers = using or parameters()
    _check(question)
    evaluator = Evaluator(question, numbers)
    plain = evaluator.plain()
    _check_memory(question, plain)
    found, refusals = [], []
    for method in methods():
        reason = evaluator.refusal(method) or (unsupported or {}).get(method)
        best = None if reason else evaluator.best(method, plain)
        if best is not None and _fits(question, best):
            found.append(best)
        else:
            refusals.append(Refusal(method, reason or "it does not fit into memory"))
    found.sort(key=lambda each: -each.tokens_per_s.likely)
    return Plan(
        question=question,
        plain=plain,
        candidates=tuple(found),
        refusals=tuple(refusals),
        verdict=_verdict(question, numbers, plain, found),
    )


def _check(question: Question) -> None:
    if not 0 <= question.copied <= 1:
        raise InputError(f"the copied share must be from 0 to 1, not {question.copied}")
    if question.acceptance is not None and not 0 < question.acceptance <= 1:
        raise InputError(f"an acceptance must be above 0 and at most 1, not {question.acceptance}")
    if not 1 <= question.longest <= MOST_GUESSES:
        raise InputError(
            f"the longest draft must be from 1 to {MOST_GUESSES} tokens, not {question.longest}"
        )


def _fits(question: Question, candidate: Candidate) -> bool:
    memory = question.machine.memory_bytes
    return memory is None or candidate.host_bytes <= memory


def _check_memory(question: Question, plain: Candidate) -> None:
    if not _fits(question, plain):
        raise InputError(
            f"the target needs {human_bytes(plain.host_bytes)} of the machine's memory, which has "
            f"{human_bytes(question.machine.memory_bytes or 0)}",
            hint="choose a smaller quantisation or context",
        )


def _verdict(
    question: Question, numbers: Parameters, plain: Candidate, found: list[Candidate]
) -> Verdict:
    if not found:
        return Verdict(
            speculate=False,
            is_sure=True,
            method="none",
            k=0,
            told="none",
            binding=None,
            why="there is nothing to guess with",
            flips=(),
        )
    best = found[0]
    pays = best.speedup.likely > 1 + MARGIN
    # Copies cost nothing where there are none: what a model's guesses lack is the better answer.
    told = best if pays else next((each for each in found if each.method != "ngram-simple"), best)
    binding = _binding(plain, told)
    flips = [f"{told.method} {flip}" for flip in _flips(question, numbers, told, pays=pays)]
    if not pays and best is not told:
        flips += [f"{best.method} {flip}" for flip in _flips(question, numbers, best, pays=False)]
    return Verdict(
        speculate=pays,
        is_sure=best.speedup.low > 1 if pays else best.speedup.high < 1 + MARGIN,
        method=best.method if pays else "none",
        k=best.k if pays else 0,
        told=told.method,
        binding=binding,
        why=_why(question, plain, told, binding),
        flips=tuple(flips),
    )


def _binding(plain: Candidate, best: Candidate) -> Reason:
    """What the speed-up would gain most by if it cost nothing, or were certain."""
    if best.method == "ngram-simple":
        return "copies"
    costs, tokens, k = best.costs, best.tokens_per_step, best.k
    step_s, plain_s = best.step_s, plain.costs.plain_s()
    moved_s = max(0.0, costs.plain_s() - plain_s)
    without: dict[Reason, float] = {
        "checking": step_s - (costs.target.seconds(costs.sequences * (k + 1)) - costs.plain_s()),
        "draft": step_s - k * costs.draft_s - best.all_right * costs.catch_up_s,
        "memory": step_s - moved_s * step_s / costs.plain_s(),
        "acceptance": step_s * tokens / (k + 1),
    }
    return min(without, key=lambda reason: without[reason])


def _why(question: Question, plain: Candidate, best: Candidate, binding: Reason) -> str:
    costs, k = best.costs, best.k
    plain_s = costs.plain_s()
    checked = costs.target.seconds(costs.sequences * (k + 1)) / plain_s
    guess = costs.draft_s / plain_s
    if best.method == "ngram-simple":
        return (
            f"guesses copies of the prompt only, {question.copied:.0%} of the output; there, "
            f"checking {k + 1} tokens takes {checked:.2f} times one step"
        )
    text = (
        f"at its best, with {k} guess{'es' if k > 1 else ''} a step, brings "
        f"{best.tokens_per_step:.2f} tokens for {best.step_s / plain_s:.2f} plain steps: "
        f"checking {checked:.2f}, guessing {k} x {guess:.2f}"
    )
    return (
        text
        + {
            "checking": "; what weighs most is that checking is not free",
            "draft": "; what weighs most is the time of the draft itself",
            "acceptance": "; what weighs most is the guesses that are wrong",
            "memory": (
                f"; what weighs most is memory: {plain.gpu_layers - best.gpu_layers} layers of the "
                "target must leave the GPU for it"
            ),
            "copies": "",
        }[binding]
    )


def _flips(question: Question, numbers: Parameters, best: Candidate, *, pays: bool) -> list[str]:
    """What would turn the verdict, in words; nothing that would not."""
    if best.method == "ngram-simple":
        return _copy_flips(question, best, pays=pays)
    flips = []

    def pays_at(chance: float) -> bool:
        return _pays(replace(question, acceptance=chance), numbers, best.method)

    least = _threshold(pays_at, 0.01, 1.0)
    if least is None:
        flips.append("pays at no acceptance, not even if all guesses were right")
    elif pays:
        flips.append(f"no longer pays if a guess is right less often than {least:.0%}")
    else:
        flips.append(f"pays if a guess is right more often than {least:.0%}")
    if not pays and question.machine.gpu is not None and question.machine.gpu.memory_bytes:
        more = _more_memory(question, numbers, best.method)
        if more is not None:
            flips.append(f"pays with {human_bytes(more)} more GPU memory")
    return flips


def _copy_flips(question: Question, best: Candidate, *, pays: bool) -> list[str]:
    def pays_at(copied: float) -> bool:
        chance = best.acceptance.likely if best.acceptance else 0.0
        gain = copying_speedup(best.costs, best.k, copied=copied, acceptance=chance)
        return gain > 1 + MARGIN

    least = _threshold(pays_at, 0.0, 1.0)
    if least is None:
        return ["pays at no share of copies: checking costs too much here"]
    if pays:
        return [f"no longer pays if less than {least:.0%} of the output is copied"]
    return [f"pays if more than {least:.0%} of the output is copied from the prompt (--copied)"]


def _pays(question: Question, numbers: Parameters, method: Method) -> bool:
    evaluator = Evaluator(question, numbers)
    best = evaluator.best(method, evaluator.plain())
    return best is not None and best.speedup.likely > 1 + MARGIN


def _more_memory(question: Question, numbers: Parameters, method: Method) -> int | None:
    """Bytes of GPU memory more with which a way pays, to about 200 MB; None if 64 GiB do not do."""
    gpu = question.machine.gpu
    assert gpu is not None
    assert gpu.memory_bytes is not None

    def pays_with(more: float) -> bool:
        larger = replace(gpu, memory_bytes=(gpu.memory_bytes or 0) + int(more))
        machine = replace(question.machine, gpu=larger)
        return _pays(replace(question, machine=machine), numbers, method)

    least = _threshold(pays_with, 0.0, float(_MOST_MORE_BYTES), rounds=9)
    return None if least is None else int(least)


def _threshold(
    is_enough: Callable[[float], bool], low: float, high: float, *, rounds: int = 12
) -> float | None:
    """About the least value that is enough, or None if `high` is not."""
    if not is_enough(high):
        return None
    for _ in range(rounds):
        middle = (low + high) / 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high
