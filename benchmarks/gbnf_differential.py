"""GBNF against llama.cpp's own grammar, text by text: no weights are needed.

    python benchmarks/gbnf_differential.py [--strings 5000] [--seed 0] [--grammar NAME] [--json]

The grammars are those of the tests. For each, so many texts are derived from it and as many
mutated until most are illegal; both sides say whether each is legal as a whole. Exit code 1 if
they disagree about any.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "engine")]

from gbnf_grammars import TEXT, TOKENS  # noqa: E402
from gbnf_oracle import Reader, Tally, compare  # noqa: E402

from tiny_gguf import build_tiny  # noqa: E402
from vedette.engine.llama.model import Model  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--strings", type=int, default=5000, help="of each kind, per grammar")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grammar", choices=[*TEXT, *TOKENS], help="only this one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.strings < 1:
        parser.error(f"--strings is {options.strings}; without a text nothing is compared")

    grammars = {**TEXT, **TOKENS}
    if options.grammar:
        grammars = {options.grammar: grammars[options.grammar]}
    tallies: dict[str, Tally] = {}
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        model = Model(build_tiny("full", Path(folder) / "tiny.gguf"))
        reader = Reader(model)
        for name, source in grammars.items():
            tallies[name] = compare(reader, source, strings=options.strings, seed=options.seed)
            if not options.json:
                print(line(name, tallies[name]), flush=True)
        model.close()
    report(tallies, time.perf_counter() - started, as_json=options.json)
    return 1 if any(tally.differ or tally.underivable for tally in tallies.values()) else 0


def line(name: str, tally: Tally) -> str:
    """One grammar for people: different texts, how many llama.cpp allows, and what is wrong."""
    wrong = "".join(f"\n    differ: {text!r}" for text in tally.differ[:5])
    wrong += "".join(f"\n    derived, refused: {text!r}" for text in tally.underivable[:5])
    return f"{name:35} {tally.strings:7,} texts {tally.legal:7,} legal{wrong}"


def report(tallies: dict[str, Tally], seconds: float, *, as_json: bool) -> None:
    """The sums over all grammars."""
    total = {
        "grammars": len(tallies),
        "texts": sum(tally.strings for tally in tallies.values()),
        "legal": sum(tally.legal for tally in tallies.values()),
        "disagreements": sum(len(tally.differ) for tally in tallies.values()),
        "seconds": round(seconds, 1),
    }
    if as_json:
        print(json.dumps(total))
    else:
        print(" · ".join(f"{value:,} {key}" for key, value in total.items()))


if __name__ == "__main__":
    sys.exit(main())
