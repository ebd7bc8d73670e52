"""The scorecard of constrained output for people."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.bench.constrained import PeerScore, Scorecard
from vedette.bench.constrained_answers import AnswerReport
from vedette.bench.constrained_times import Quantiles
from vedette.cli.bench_tables import QUIET_SHARE
from vedette.cli.console import print_table

TIMES = ("count", "p50", "p99", "max")
ANSWERS = ("asked", "valid", "errors", "tokens p50", "forced", "ms p50", "ms p99", "cut", "runaway")


def print_scorecard(card: Scorecard) -> None:
    """The setting, the verdicts, the times, the answers, and what went wrong."""
    print_table(("what", "is"), [*_setting(card)])
    rows = [
        _times("compile, ms", card.compile_ms),
        _times("mask, us", card.mask_us),
    ]
    print_table(("time", *TIMES), rows, title="Times", right=TIMES)
    sides = [("vedette", card.answers), ("llama-server", card.peer.answers if card.peer else None)]
    answers = [(name, report) for name, report in sides if report]
    if answers:
        print_table(
            ("side", *ANSWERS),
            [_answers(*side) for side in answers],
            title="Answers",
            right=ANSWERS,
        )
    wrong = [*_wrong(card, answers)]
    if wrong:
        print_table(("what", "which"), wrong, title="What is not as it should be")
    if card.others_cpu_share > QUIET_SHARE:
        print(
            f"note: the machine was not quiet: other processes took {card.others_cpu_share:.1%} "
            "of its CPUs, so these times mean little"
        )


def _setting(card: Scorecard) -> Iterator[tuple[str, str]]:
    matching = card.matching
    yield "machine", f"{card.cpu}, {card.threads} threads"
    yield "model", f"{card.model}, a vocabulary of {card.vocabulary:,}"
    yield "schemas", f"{card.suite}: {matching.schemas}"
    yield "accepted", f"{matching.accepted} of {matching.schemas}"
    if card.peer:
        yield "the peer", _peer(card.peer)
        yield "it accepts", f"{card.peer.accepted} of the {card.peer.schemas} with prompts"
    yield "instances", f"{matching.instances} of accepted schemas"
    yield "false accepts", str(len(matching.false_accepts))
    yield "false rejects", str(len(matching.false_rejects))


def _peer(peer: PeerScore) -> str:
    return f"llama-server {peer.build.version}, a {peer.build.kind} build ({peer.program})"


def _times(name: str, found: Quantiles | None) -> tuple[object, ...]:
    if found is None:
        return (name, 0, "", "", "")
    return (name, found.count, *(f"{value:.1f}" for value in (found.p50, found.p99, found.max)))


def _answers(name: str, report: AnswerReport) -> tuple[object, ...]:
    tokens, latency = report.tokens, report.latency_ms
    return (
        name,
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


def _wrong(card: Scorecard, answers: list[tuple[str, AnswerReport]]) -> Iterator[tuple[str, str]]:
    for name, reason in card.matching.refused.items():
        yield "refused", f"{name}: {reason}"
    for where in card.matching.false_accepts:
        yield "false accept", where
    for where in card.matching.false_rejects:
        yield "false reject", where
    for side, report in answers:
        for reason, count in report.errors.items():
            yield f"{side}, {count} times", reason
