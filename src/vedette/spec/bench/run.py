"""Ask the same prompts of every variant, in turns, until they are through or time is up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .kept import Kept
from .no_op import no_op
from .prompts import WARM_UP, BenchPrompt
from .sample import Sample
from .side import Side, Variant

Say: TypeAlias = Callable[[str], None]
Clock: TypeAlias = Callable[[], float]


@dataclass(slots=True)
class Run:
    """What was measured. `prompts` are those that every variant has answered, in order.

    `why_ended` is empty where all prompts were asked. `no_ops` says, by variant, that guesses were
    asked for and none was made.
    """

    prompts: list[BenchPrompt] = field(default_factory=list)
    samples: dict[tuple[str, str], Sample] = field(default_factory=dict)
    no_ops: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    why_ended: str = ""
    is_interrupted: bool = False

    def of(self, variant: str, prompt: BenchPrompt) -> Sample:
        """The answer of a variant to one of the prompts."""
        return self.samples[variant, prompt.id]


def measure(
    side: Side,
    prompts: Sequence[BenchPrompt],
    *,
    seconds: float | None = None,
    seed: int = 0,
    kept: Kept | None = None,
    say: Say = lambda _: None,
    clock: Clock = time.monotonic,
) -> Run:
    """Warm up, then ask each prompt of each variant, in a random order for each prompt.

    After `seconds` no prompt is begun that would hardly be done in time, and Ctrl-C ends it at
    once; then the run has what is complete. Prompts that `kept` has are not asked again. Raises
    what `side` raises.
    """
    run = Run()
    names = [variant.name for variant in side.variants]
    began = clock()
    try:
        _warm_up(side, run, say)
        longest = 0.0
        for block in _blocks(prompts, side.block):
            todo = [p for p in block if kept is None or not kept.has(names, p.id)]
            at = clock()
            if todo and seconds is not None and at - began + longest > seconds:
                run.why_ended = f"{seconds:g} seconds were up"
                break
            for variant, prompt in _turns(side.variants, todo, seed):
                sample = side.ask(variant, prompt)
                run.samples[variant.name, prompt.id] = sample
                if kept is not None:
                    kept.add(sample)
            longest = max(longest, clock() - at)
            for prompt in block:
                if prompt not in todo and kept is not None:
                    run.samples |= {
                        (name, prompt.id): kept.samples[name, prompt.id] for name in names
                    }
            run.prompts += block
            say(_progress(run, prompts, names, block[-1]))
    except KeyboardInterrupt:
        run.why_ended, run.is_interrupted = "it was interrupted", True
    run.seconds = clock() - began
    _look_for_no_ops(side, run)
    return run


def _warm_up(side: Side, run: Run, say: Say) -> None:
    """One answer of each variant that does not count, but that shows whether anybody guesses."""
    for variant in side.variants:
        found = no_op(variant, [side.ask(variant, WARM_UP)])
        if found and variant.asked == "draft":
            run.no_ops[variant.name] = found
            say(f"{variant.name}: {found}")


def _look_for_no_ops(side: Side, run: Run) -> None:
    """N-grams may find nothing in one answer; in none of all answers is another matter."""
    for variant in side.variants:
        found = no_op(variant, [run.of(variant.name, prompt) for prompt in run.prompts])
        if run.prompts and found:
            run.no_ops[variant.name] = found
        elif run.prompts:
            run.no_ops.pop(variant.name, None)


def _blocks(prompts: Sequence[BenchPrompt], size: int) -> Iterator[list[BenchPrompt]]:
    for first in range(0, len(prompts), size):
        yield list(prompts[first : first + size])


def _turns(
    variants: Sequence[Variant], block: Sequence[BenchPrompt], seed: int
) -> Iterator[tuple[Variant, BenchPrompt]]:
    """A block's requests: the variants in an order that chance decides, from the seed."""
    if not block:
        return
    order = list(variants)
    random.Random(f"{seed}:{block[0].id}").shuffle(order)
    for variant in order:
        for prompt in block:
            yield variant, prompt


def _progress(run: Run, prompts: Sequence[BenchPrompt], names: list[str], last: BenchPrompt) -> str:
    speeds = (run.of(name, last) for name in names)
    told = ", ".join(f"{s.variant} {s.tokens / s.seconds:.1f}" for s in speeds if s.seconds > 0)
    return f"{len(run.prompts)} of {len(prompts)} prompts; {last.id}: {told} tokens/s"
