"""From timings to what a user may expect. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .timings import Measurement, Pace

LINE_PROMPT_TOKENS, LINE_ANSWER_TOKENS = 45, 30
TEXT_PROMPT_TOKENS, LABEL_TOKENS = 45, 5
NEARLY = 0.95  # a width counts as fastest from this share of the best rate on
SLOWER = 0.9  # below this share of the best rate the widest width is worse
BUSY_SPREAD = 0.25
# What drafting costs besides verification, as a share of a step: a light draft and bookkeeping.
DRAFT_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to expect.

    `best_width` is the narrowest one that decodes about as fast as any. `two_token_cost` is the
    time of a step of two tokens by that of one, `break_even` the share of right guesses from
    which guessing one token ahead pays (above 1: never); None where width 2 was not measured.
    """

    lines_per_s: float
    texts_per_s: float
    best_width: int
    two_token_cost: float | None
    break_even: float | None
    varied: float
    sentences: tuple[str, ...]


def judge(measured: Measurement, *, width: int, widths: Sequence[int]) -> Verdict:
    """The verdict for an engine that answers up to `width` sequences at once.

    `widths` are those that were to be measured.
    """
    best = fastest_width(measured.decode)
    usable = [pace for pace in measured.decode if pace.tokens <= width]
    decode = max(pace.tokens_per_s for pace in usable)
    lines = items_per_s(measured.prefill, decode, LINE_PROMPT_TOKENS, LINE_ANSWER_TOKENS)
    texts = items_per_s(measured.prefill, decode, TEXT_PROMPT_TOKENS + LABEL_TOKENS, 0)
    cost = two_token_cost(measured.decode)
    varied = max(pace.spread for pace in (measured.prefill, *measured.decode))
    return Verdict(
        lines_per_s=lines,
        texts_per_s=texts,
        best_width=best,
        two_token_cost=cost,
        break_even=None if cost is None else break_even(cost),
        varied=varied,
        sentences=(
            f"About {rounded(lines)} short log lines/s extracted ({LINE_PROMPT_TOKENS} prompt + "
            f"{LINE_ANSWER_TOKENS} answer tokens each, up to {width} at once).",
            f"About {rounded(texts)} short texts/s classified ({TEXT_PROMPT_TOKENS} prompt + "
            f"{LABEL_TOKENS} label tokens each).",
            *_on_width(measured.decode, best, widths),
            *_on_speculation(cost),
            *_on_trust(measured, varied, widths),
        ),
    )


def items_per_s(
    prefill: Pace, decode_tokens_per_s: float, prompt_tokens: int, answer_tokens: int
) -> float:
    """Items that fit into a second when reading and answering share the same cores."""
    seconds = prompt_tokens / prefill.tokens_per_s + answer_tokens / decode_tokens_per_s
    return 1 / seconds


def fastest_width(decode: Sequence[Pace]) -> int:
    """The narrowest width with nearly the best tokens/s."""
    best = max(pace.tokens_per_s for pace in decode)
    return next(pace.tokens for pace in decode if pace.tokens_per_s >= NEARLY * best)


def two_token_cost(decode: Sequence[Pace]) -> float | None:
    """v(2): the time of a step of two tokens by that of one; None if one is not measured."""
    step_ms = {pace.tokens: pace.step_ms for pace in decode}
    return step_ms[2] / step_ms[1] if {1, 2} <= step_ms.keys() else None


def break_even(two_token_cost: float) -> float:
    """Share of right guesses from which one guessed token per step pays, its draft included."""
    return max(0.0, two_token_cost - 1 + DRAFT_SHARE)


def rounded(rate: float) -> str:
    """Two significant digits, as no more can be promised: 4.4, 18, 120."""
    return f"{float(f'{rate:.2g}'):.10g}"


def _on_width(decode: Sequence[Pace], best: int, widths: Sequence[int]) -> Iterator[str]:
    if len(decode) < len(widths):  # where the gain ends cannot be known
        return
    last = decode[-1]
    top = max(pace.tokens_per_s for pace in decode)
    gain = f"{rounded(top / decode[0].tokens_per_s)} times one sequence"
    if best == 1:
        yield "Decoding several sequences at once is no faster than one at a time."
    elif best == last.tokens:
        yield f"Decoding still gets faster at {best} sequences at once: {gain}."
    elif last.tokens_per_s < SLOWER * top:
        yield f"Decoding is fastest at {best} sequences at once ({gain}) and slower beyond."
    else:
        yield f"Decoding stops getting faster at {best} sequences at once: {gain}."


def _on_speculation(cost: float | None) -> Iterator[str]:
    if cost is None:
        return
    measured = f"two tokens in a step cost {cost:.2f} times one"
    share = break_even(cost)
    if share < 1:
        how = "could pay" if share <= 0.6 else "pays only on very predictable text"
        yield (
            f"Speculation {how} for a single stream: {measured}, "
            f"so at least {share:.0%} of the guesses must be right."
        )
    else:
        yield f"Speculation does not pay with one guess a step: {measured}."


def _on_trust(measured: Measurement, varied: float, widths: Sequence[int]) -> Iterator[str]:
    if varied > BUSY_SPREAD:
        yield (
            f"Timings varied by up to {varied:.0%} between repeats: the machine is busy or "
            f"throttled; measure again when it is quiet."
        )
    done = {pace.tokens for pace in measured.decode}
    left_out = [str(width) for width in widths if width not in done]
    if left_out:
        yield (
            f"The time was too short to measure {', '.join(left_out)} sequences; "
            f"give more with --seconds."
        )
    elif any(pace.repeats < 2 for pace in (measured.prefill, *measured.decode)):
        yield "Some were measured only once; give more time with --seconds."
