"""Whether guesses change what is drawn: frequencies with and without, by a chi-square test.

    python benchmarks/speculation_sampling.py [--samples 100000] [--sources ngram:4,draft:3,...] \\
        [--temperature 1]

On a tiny model of random weights (the one of the tests), with a constraint, penalties and top-p.
The prompt has every two digits once, so that n-grams always find something, and the answer is
four digits, of which some twenty come. `draft` and `drawn` guess with another random model,
`itself` with the same one. A request is asked with so many seeds, without guesses and with; the
two samples of texts are compared. A p-value is the chance of a difference as large as seen where
there is none: of ten sources one below 0.1 is to be expected. Exit code 1 if a source guessed
nothing right, as it says nothing then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import say, table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from tiny_gguf import build_tiny  # type: ignore[import-not-found]
from vedette.engine.core import EngineCore
from vedette.engine.options import EngineOptions
from vedette.types import Constraint, Prompt, Request, Sampling

SOURCES = ("ngram:1", "ngram:4", "draft:1", "draft:3", "drawn:1", "drawn:3", "itself drawn:3")
LEAST_EXPECTED = 10
WIDTH = 16
PAIRS = "".join(f"{a}{b}" for a in range(10) for b in range(a, 10)) + "0"
REQUEST = Request(
    prompt=Prompt(raw=PAIRS),
    constraint=Constraint("regex", "[0-9]{4}"),
    max_tokens=5,
    sampling=Sampling(
        temperature=1.0, top_k=0, top_p=0.9, min_p=0.0, repeat_penalty=1.2, repeat_last_tokens=4
    ),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts by how often they came, and how many guesses were right."""

    counts: Counter[str]
    guessed: int
    right: int


def draw(engine: EngineCore, policy: str, n: int, first_seed: int, temperature: float) -> Sample:
    """So many answers, each with a seed of its own."""
    sampling = replace(REQUEST.sampling, temperature=temperature)
    counts: Counter[str] = Counter()
    guessed, right = engine.stats.guessed, engine.stats.guesses_right
    for first in range(0, n, 256):
        tickets = [
            engine.submit(
                replace(
                    REQUEST,
                    speculate=policy,
                    sampling=replace(sampling, seed=first_seed + first + i),
                )
            )
            for i in range(min(256, n - first))
        ]
        counts.update(ticket.result().text for ticket in tickets)
    stats = engine.stats
    return Sample(counts, stats.guessed - guessed, stats.guesses_right - right)


def chi_square(left: Counter[str], right: Counter[str]) -> tuple[float, int]:
    """The statistic of two samples of equal size, and its degrees of freedom.

    Texts that came too seldom are one cell.
    """
    common = [text for text in left | right if left[text] + right[text] >= 2 * LEAST_EXPECTED]
    pairs = [(left[text], right[text]) for text in common]
    pairs.append(
        (left.total() - sum(a for a, _ in pairs), right.total() - sum(b for _, b in pairs))
    )
    used = [(a, b) for a, b in pairs if a + b]
    return sum((a - b) ** 2 / (a + b) for a, b in used), len(used) - 1


def p_value(chi: float, degrees: int) -> float:
    """The share of chi-square draws that are larger, by simulation."""
    drawn = np.random.default_rng(0).chisquare(degrees, 200_000)
    return float((drawn >= chi).mean())


def main() -> int:
    """Draw and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--sources", default=",".join(SOURCES))
    parser.add_argument("--temperature", type=float, default=1.0)
    options = parser.parse_args()
    n, temperature = options.samples, options.temperature
    rows = []
    says_nothing = False
    with tempfile.TemporaryDirectory() as folder:
        target = build_tiny("full", Path(folder) / "target.gguf")
        other = build_tiny("full", Path(folder) / "draft.gguf", seed=9)
        for n_source, name in enumerate(options.sources.split(",")):
            draft = target if name.startswith("itself ") else other
            policy = name.removeprefix("itself ")
            settings = EngineOptions(threads=1, width=WIDTH, cells=4096, draft=draft)
            with EngineCore(target, settings) as engine:
                plain = draw(engine, "off", n, 2 * n_source * n, temperature)
                guessed = draw(engine, policy, n, (2 * n_source + 1) * n, temperature)
            says_nothing |= not guessed.right
            chi, degrees = chi_square(plain.counts, guessed.counts)
            say(f"{name}: {chi:.1f} at {degrees} degrees of freedom")
            share = f"{guessed.right / guessed.guessed:.0%}" if guessed.guessed else "-"
            p = p_value(chi, degrees)
            rows.append(
                [name, f"{guessed.guessed:,}", share, f"{chi:.0f}", str(degrees), f"{p:.3f}"]
            )
    print(table(["source", "guesses", "right", "chi-square", "degrees", "p"], rows))
    return int(says_nothing)


if __name__ == "__main__":
    sys.exit(main())
