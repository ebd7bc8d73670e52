"""How much of what llama.cpp itself does on this machine the engine brings into a job.

    python benchmarks/engine_ceiling.py --tools DIRECTORY [--model NAME] [--items 40] [--width 8]

Extraction from the first lines of examples/app.log in process, and `llama-batched-bench` of
DIRECTORY on the same file, before and after it. The ceiling is the time in which llama.cpp reads as
many prompt tokens as the job read without a cache (its rate for one prompt of 512), and writes as
many as it wrote (its rate for `--width` sequences). Forced tokens count as written: the engine gets
them for less, so it can exceed the ceiling. Told too are the shares of the steps' time outside of
llama.cpp. Exit code 1 below 85% of the ceiling.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from common import LOG, event_task, say, table

from vedette.backends.local import LocalBackend, options_of
from vedette.batch import answers
from vedette.config import load
from vedette.errors import VedetteError
from vedette.models.locate import locate
from vedette.types import Item, Usage

GOAL = 0.85
PROMPT_TOKENS, WRITTEN_TOKENS = 512, 32


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens a second by llama.cpp: reading one prompt, writing at the width."""

    read: float
    write: float


@dataclass(frozen=True, slots=True)
class Job:
    """What the job processed, and in what time. `outside` is the share outside of llama.cpp."""

    usage: Usage
    seconds: float
    outside: float

    def ceiling_s(self, rates: Rates) -> float:
        """The time that llama.cpp needs for as many tokens."""
        read = self.usage.prompt_tokens - self.usage.cached_tokens
        return read / rates.read + self.usage.completion_tokens / rates.write


def rates_of(tools: Path, model: Path, width: int, threads: int) -> Rates:
    """What `llama-batched-bench` measures. Raises `CalledProcessError` if it fails."""
    cells = width * (PROMPT_TOKENS + WRITTEN_TOKENS)
    command = [tools / "llama-batched-bench", "-m", model, "-c", cells, "-t", threads, "-fa", "off"]
    command += ["-npp", PROMPT_TOKENS, "-ntg", WRITTEN_TOKENS, "-npl", f"1,{width}"]
    command += ["--output-format", "jsonl"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    by_width = {row["pl"]: row for row in rows}
    return Rates(by_width[1]["speed_pp"], by_width[width]["speed_tg"])


def job(model: Path, n_items: int, width: int) -> Job:
    """The extraction, after a first line that fills the cache."""
    settings = load(model=str(model), width=width)
    lines = [line for line in LOG.read_text("utf-8").splitlines() if line.strip()]
    items = [Item(id=str(i), text=line) for i, line in enumerate(lines[: n_items + 1])]
    backend = LocalBackend(settings.model, options_of(settings))
    try:
        task = event_task()
        list(answers(items[:1], task, backend))
        stats = backend.engine.stats
        step_s, decode_s = stats.step_s, stats.decode_s
        began = time.perf_counter()
        usage = Usage()
        for _, outcome in answers(items[1:], task, backend):
            if isinstance(outcome, VedetteError):
                raise outcome
            usage += outcome.usage
        seconds = time.perf_counter() - began
        share = 1 - (stats.decode_s - decode_s) / (stats.step_s - step_s)
    finally:
        backend.close()
    return Job(usage, seconds, share)


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--width", type=int, default=8)
    options = parser.parse_args()
    if not (options.tools / "llama-batched-bench").is_file():
        parser.error(f"{options.tools} has no llama-batched-bench; llama.cpp's tools have it")
    model = locate(options.model).path
    threads = load().thread_count
    before = rates_of(options.tools, model, options.width, threads)
    say("llama.cpp's own rates are measured; the job begins")
    done = job(model, options.items, options.width)
    after = rates_of(options.tools, model, options.width, threads)
    rates = Rates(fmean((before.read, after.read)), fmean((before.write, after.write)))
    share = done.ceiling_s(rates) / done.seconds
    usage = done.usage
    read = usage.prompt_tokens - usage.cached_tokens
    rows = [
        ("llama.cpp reads, tokens/s, before and after", f"{before.read:.1f}, {after.read:.1f}"),
        (f"it writes {options.width} at once", f"{before.write:.1f}, {after.write:.1f}"),
        ("the job read, of it from the cache", f"{usage.prompt_tokens}, {usage.cached_tokens}"),
        ("it wrote, of it forced", f"{usage.completion_tokens}, {usage.forced_tokens}"),
        (f"seconds for {options.items} rows", f"{done.seconds:.1f}"),
        (f"llama.cpp's for {read} and {usage.completion_tokens}", f"{done.ceiling_s(rates):.1f}"),
        ("of the ceiling", f"{share:.0%}"),
        ("of the steps' time outside llama.cpp", f"{done.outside:.1%}"),
    ]
    print(table(("what", options.model), rows))
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
