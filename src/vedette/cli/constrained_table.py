"""The scorecard of constrained output for people."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.bench.constrained import Costs, Scorecard, Side
from vedette.bench.constrained_times import Quantiles
from vedette.cli.bench_tables import QUIET_SHARE
from vedette.cli.console import print_table

VERDICTS = ("accepted", "refused", "instances", "false accepts", "false rejects")
TIMES = ("count", "p50", "p99", "max")
ANSWERS = ("asked", "valid", "errors", "tokens p50", "forced", "ms p50", "ms p99", "cut", "runaway")


def print_scorecard(card: Scorecard) -> None:
    """The setting, the verdicts, the times, the answers, and what went wrong."""
    print_table(("what", "is"), [*_setting(card)])
    judged = [_verdicts(side) for side in card.sides if side.matching]
    print_table(("side", *VERDICTS), judged, title="Schemas", right=VERDICTS)
    print_table(("time", *TIMES), [*_times(card.costs)], title="Times of vedette", right=TIMES)
    answers = [_answers(side) for side in card.sides if side.answers]
    if answers:
        print_table(("side", *ANSWERS), answers, title="Answers", right=ANSWERS)
    wrong = [line for side in card.sides for line in _wrong(side)]
    if wrong:
        print_table(("side", "what", "which"), wrong, title="What is not as it should be")
    if card.others_cpu_share > QUIET_SHARE:
        print(
            f"note: the machine was not quiet: other processes took {card.others_cpu_share:.1%} "
            "of its CPUs, so these times mean little"
        )


def _setting(card: Scorecard) -> Iterator[tuple[str, str]]:
    yield "machine", f"{card.cpu}, {card.threads} threads"
    yield "model", f"{card.model}, a vocabulary of {card.vocabulary:,}"
    yield "schemas", f"{card.suite}: {card.schemas}, {card.with_prompts} of them with prompts"
    for side in card.sides:
        if side.build:
            kind = f"{side.build.version}, a {side.build.kind} build ({side.program})"
            yield side.name, kind
        if side.answers:
            yield f"{side.name} answers", f"under {side.answered} of {card.with_prompts} schemas"
    if card.with_prompts:
        yield "compiled already", f"{card.costs.cache_hits} of vedette's requests"
    if card.costs.bounded:
        yield "default bounds", f"leave out {card.costs.bounded} valid instances"


def _verdicts(side: Side) -> tuple[object, ...]:
    found = side.matching
    assert found is not None
    wrong = (len(found.false_accepts), len(found.false_rejects))
    return (side.name, found.accepted, len(found.refused), found.instances, *wrong)


def _times(costs: Costs) -> Iterator[tuple[object, ...]]:
    yield _time("compile, ms", costs.compile_ms, 2)
    yield _time("compile again, ms", costs.again_ms, 3)
    yield _time("mask, us", costs.mask_us, 1)


def _time(name: str, found: Quantiles | None, digits: int) -> tuple[object, ...]:
    if found is None:
        return (name, 0, "", "", "")
    values = (found.p50, found.p99, found.max)
    return (name, found.count, *(f"{value:.{digits}f}" for value in values))


def _answers(side: Side) -> tuple[object, ...]:
    report = side.answers
    assert report is not None
    tokens, latency = report.tokens, report.latency_ms
    return (
        side.name,
        report.asked,
        report.valid,
        sum(report.errors.values()),
        f"{tokens.p50:.0f}" if tokens else "",
        f"{report.forced_share:.0%}",
        f"{latency.p50:.0f}" if latency else "",
        f"{latency.p99:.0f}" if latency else "",
        report.cut,
        report.runaway,
    )


def _wrong(side: Side) -> Iterator[tuple[str, str, str]]:
    if side.matching:
        for name, reason in side.matching.refused.items():
            yield side.name, "refused", f"{name}: {reason}"
        for where in side.matching.false_accepts:
            yield side.name, "false accept", where
        for where in side.matching.false_rejects:
            yield side.name, "false reject", where
    if side.answers:
        for reason, count in side.answers.errors.items():
            yield side.name, f"error, {count} times", reason
