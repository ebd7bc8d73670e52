"""Does guessing ahead pay, and does the engine know? All fixed settings against `auto` and `off`.

    python benchmarks/speculation.py --runs FILE [--seconds 420] [--requests 4] [--max-tokens 64]
    python benchmarks/speculation.py --self-check 20

The first compares, in one engine and in turns, no guesses, `auto`, and every fixed number of
guesses from n-grams and from the draft, on four workloads. FILE keeps each answer's figures: run it
again to go on. It tells of each workload the speed of `auto` as a share of plain decoding and of
the best fixed setting. The second compares no guesses with no guesses, again and again, and counts
how often that is called no difference. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys

from common import say, table

from vedette.cli.bench_run import stopped_by_sigterm
from vedette.config import load
from vedette.errors import VedetteError
from vedette.spec.bench.comparison import OVERALL
from vedette.spec.bench.engine_side import EngineSide
from vedette.spec.bench.kept import Kept
from vedette.spec.bench.prompts import bundled_prompts, choose
from vedette.spec.bench.report import Report, report_of
from vedette.spec.bench.run import measure

FIXED = (
    *(f"ngram:{n}" for n in (1, 2, 3, 5, 7, 11, 15, 23, 31)),
    *(f"draft:{n}" for n in (1, 2, 3, 4, 6, 8)),
)
LEAST_OF_PLAIN, LEAST_OF_BEST, LEAST_ON_COPIES = 0.97, 0.95, 1.6


def search(options: argparse.Namespace) -> int:
    """Every fixed setting, `off` and `auto`."""
    settings = load(model=options.model, draft=options.draft, threads=options.threads)
    side = EngineSide(settings, ("off", "auto", *FIXED), options.max_tokens)
    try:
        kept = Kept(options.runs, side.identity) if options.runs else None
        prompts = choose(bundled_prompts(), options.requests)
        run = measure(side, prompts, seconds=options.seconds, kept=kept, say=say)
        report = report_of(side, run)
    finally:
        side.close()
    return tell(report)


def tell(report: Report) -> int:
    """A line for each workload; whether the goals are met."""
    rows, is_met = [], True
    for workload in report.workloads:
        plain, auto = report.of("off", workload), report.of("auto", workload)
        best = max((report.of(name, workload) for name in FIXED), key=lambda one: one.speed)
        best_speed = max(best.speed, plain.speed)
        of_plain, of_best = auto.speed / plain.speed, auto.speed / best_speed
        least = LEAST_ON_COPIES if workload == "copy" else LEAST_OF_PLAIN
        if workload != OVERALL:
            is_met &= of_plain >= least and of_best >= LEAST_OF_BEST
        rows.append(
            (
                workload,
                str(plain.n_prompts),
                f"{plain.speed:.1f}",
                f"{auto.speed:.1f}",
                f"{of_plain:.2f}",
                auto.verdict,
                f"{best.variant} {best.speed:.1f}",
                f"{of_best:.2f}",
            )
        )
    columns = ("workload", "prompts", "off", "auto", "of off", "verdict", "best fixed", "of best")
    print(table(columns, rows))
    each = [
        (
            name,
            *(
                f"{report.of(name, w).speed / report.of('off', w).speed:.2f}"
                for w in report.workloads
            ),
        )
        for name in FIXED
    ]
    print(table(("setting", *report.workloads), each))
    for one in report.divergences:
        say(f"{one.variant} on {one.prompt}: {one.words}")
    say(f"{report.n_prompts} prompts; {report.why_ended or 'all were asked'}")
    return 0 if is_met else 1


def self_check(options: argparse.Namespace) -> int:
    """No guesses against no guesses, as often as asked for."""
    settings = load(model=options.model, threads=options.threads)
    side = EngineSide(settings, ("off", "off"), options.max_tokens)
    prompts = choose(bundled_prompts(), options.requests)
    calm = 0
    try:
        for i in range(options.self_check):
            report = report_of(side, measure(side, prompts, seed=i), seed=i)
            found = report.of("off (2)")
            is_calm = found.writing is not None and found.writing.kind == "no difference"
            calm += is_calm
            parts = [report.of("off (2)", name).writing for name in report.workloads]
            kinds = ", ".join(part.kind for part in parts if part is not None)
            say(f"run {i + 1}: {found.verdict}; by workload: {kinds}")
    finally:
        side.close()
    say(f"no difference in {calm} of {options.self_check} runs")
    return 0 if calm >= 0.95 * options.self_check else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--draft", default="qwen2.5-coder-0.5b")
    parser.add_argument("--runs", help="keep figures here, and go on from them")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--requests", type=int, help="prompts of each workload")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--self-check", type=int, default=0, metavar="RUNS")
    options = parser.parse_args()
    try:
        with stopped_by_sigterm():
            return self_check(options) if options.self_check else search(options)
    except VedetteError as error:
        say(f"{error.message}. {error.hint or ''}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
