"""Malformed and mutated schemas, grammars, expressions and choice lists against a real engine.

    python benchmarks/constraint_fuzz.py [--cases 2000] [--seed 0] [--vocabulary MODEL]
                                         [--keep DIRECTORY] [--json]

A tiny model with random weights answers each case in one long-lived process; another one judges
the answers. Exit code 1 if an answer is not one that was asked for, if compiling and the first
eight masks take over a second of processor time or the whole case over ten, if the process dies,
or if the engine does not answer a plain request after each case.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "engine")]

from fuzz_campaign import Fault, Limits, Tally, run  # noqa: E402
from fuzz_cases import Case, cases  # noqa: E402

from tiny_gguf import build_tiny  # noqa: E402
from vedette.bench.constrained_times import quantiles  # noqa: E402
from vedette.models.locate import locate  # noqa: E402

SHOWN_CHARS = 160
FAULTS = ("unconstrained", "hang", "crash", "untyped", "stumbled", "mute")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vocabulary", help="the model whose tokens the masks are over")
    parser.add_argument("--only", type=int, help="this case number and no other")
    parser.add_argument("--keep", type=Path, help="write each faulty case here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.cases < 1:
        parser.error(f"--cases is {options.cases}; without a case nothing is tried")

    chosen = [*cases(options.cases, options.seed)]
    if options.only is not None:
        chosen = [case for case in chosen if case.number == options.only]
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        model = build_tiny("full", Path(folder) / "tiny.gguf")
        tally = run(
            chosen,
            model,
            Limits(),
            lambda fault: tell(fault, options.keep),
            vocabulary=locate(options.vocabulary).path if options.vocabulary else None,
        )
    seconds = time.perf_counter() - started
    report = summary(tally, options.seed, seconds)
    text = "\n".join(f"{name:12} {value}" for name, value in report.items())
    print(json.dumps(report) if options.json else text)
    return 1 if tally.faults else 0


def tell(fault: Fault, folder: Path | None) -> None:
    """A line on stderr, and a file that holds the case."""
    print(f"{fault.what}: {label(fault.case)}: {fault.detail[:SHOWN_CHARS]!r}", file=sys.stderr)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        held = {**fault.case.as_dict(), "what": fault.what, "detail": fault.detail}
        path = folder / f"{fault.case.number:05}-{fault.what}-{fault.case.family}.json"
        path.write_text(json.dumps(held, indent=1), "utf-8")


def summary(tally: Tally, seed: int, seconds: float) -> dict[str, Any]:
    """The figures, for JSON."""
    counts = tally.counts()
    return {
        "seed": seed,
        "outcomes": dict(tally.outcomes.most_common()),
        "by_kind": {" ".join(key): n for key, n in sorted(tally.by_kind.items())},
        "errors": dict(tally.errors.most_common()),
        "verdicts": dict(tally.verdicts.most_common()),
        "faults": {what: counts[what] for what in FAULTS},
        "start_ms": spread_ms(tally.start_s),
        "whole_ms": spread_ms(tally.whole_s),
        "peak_mb": tally.peak_mb,
        "seconds": round(seconds, 1),
    }


def spread_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Median, the one that 99% do not exceed, and the largest."""
    found = quantiles([1000 * value for value in seconds])
    return {} if found is None else {k: round(v, 2) for k, v in asdict(found).items()}


def label(case: Case) -> str:
    """Which case it is."""
    return f"case {case.number}, {case.kind}, {case.family}, {len(case.source):,} characters"


if __name__ == "__main__":
    sys.exit(main())
