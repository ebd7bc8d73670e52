"""What `vedette spec bench` has found, for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from vedette.cli.console import print_table

if TYPE_CHECKING:
    from vedette.spec.bench.comparison import Comparison
    from vedette.spec.bench.cost_curve import CostCurve
    from vedette.spec.bench.report import Report

SHOWN_POSITIONS = 8
SHOWN_DIVERGENCES = 10


def print_comparison(report: Report) -> None:
    """Speeds and verdicts, acceptance by position, differences, and what went wrong."""
    columns = ("workload", "variant", "prompts", "tokens/s", "right", "a step", "whole", "verdict")
    rows = [
        _row(report.of(variant.name, workload))
        for workload in report.workloads
        for variant in report.variants
    ]
    print_table(columns, rows, right=columns[2:7])
    _print_positions(report)
    for name, why in report.no_ops.items():
        print(f"{name}: {why}")
    _print_divergences(report)
    ended = f"; {report.why_ended}" if report.why_ended else ""
    prompts = "1 prompt" if report.n_prompts == 1 else f"{report.n_prompts} prompts"
    print(f"{prompts} in {report.seconds:.0f} s{ended}")
    sys.stdout.flush()


def _row(one: Comparison) -> tuple[str, ...]:
    return (
        one.workload,
        one.variant,
        str(one.n_prompts),
        f"{one.speed:.1f}",
        "" if one.acceptance is None else f"{one.acceptance:.0%}",
        f"{one.tokens_per_step:.2f}",
        "" if one.whole is None else f"{one.whole.ratio:.2f}",
        one.verdict,
    )


def _print_positions(report: Report) -> None:
    """The share of right guesses among those that were checked, by their place in a step."""
    own = [report.of(variant.name) for variant in report.variants] if report.comparisons else []
    longest = min(SHOWN_POSITIONS, max((len(one.positions) for one in own), default=0))
    if not longest:
        return
    rows = [
        (one.variant, *(f"{right / n:.0%}" if n else "" for n, right in one.positions[:longest]))
        for one in own
        if one.positions
    ]
    columns = ("right, by place", *(str(i + 1) for i in range(longest)))
    print_table(
        columns, [row + ("",) * (len(columns) - len(row)) for row in rows], right=columns[1:]
    )


def _print_divergences(report: Report) -> None:
    shown = report.divergences[:SHOWN_DIVERGENCES]
    for one in shown:
        place = "" if one.n_same_tokens is None else f" after {one.n_same_tokens} tokens"
        print(f"{one.variant} on {one.prompt} writes something else{place}: {one.words}")
    if len(report.divergences) > len(shown):
        print(f"and {len(report.divergences) - len(shown)} more answers that differ")


def print_costs(costs: CostCurve) -> None:
    """The time of a step by the number of guesses, and what must be right for it to pay."""
    columns = ("guesses", "n-gram ms", "v", "draft ms", "must be right")
    rows = [("0", f"{costs.plain_s * 1e3:.1f}", "1.00", f"{costs.plain_s * 1e3:.1f}", "")]
    for k in sorted(costs.with_ngram_s.keys() | costs.with_draft_s.keys()):
        ngram, draft, needed = (
            costs.with_ngram_s.get(k),
            costs.with_draft_s.get(k),
            costs.break_even(k),
        )
        rows.append(
            (
                str(k),
                "" if ngram is None else f"{ngram * 1e3:.1f}",
                "" if ngram is None else f"{ngram / costs.plain_s:.2f}",
                "" if draft is None else f"{draft * 1e3:.1f}",
                "" if needed is None else _needed(needed, k),
            )
        )
    print_table(columns, rows, right=columns)
    if costs.draft_s is not None and costs.fixed_s is not None:
        c, f = costs.draft_s / costs.plain_s, costs.fixed_s / costs.plain_s
        print(f"a guess of the draft costs {c:.2f} of a plain step, each step {f:+.2f} more")
    sys.stdout.flush()


def _needed(needed: float, k: int) -> str:
    return f"{needed:.2f} of {k}" if needed <= k else f"more than all {k}"
