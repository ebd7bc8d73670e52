"""Does a job that is killed again and again end as one that was left alone?

    python benchmarks/kill_resume.py [--model NAME] [--items 500] [--kills 10] [--seed 7]

Runs the command line over rows made from `examples/app.log`: once undisturbed, then into a second
file with `kill -9` at random moments (of the whole process group, each at a random number of
answered rows plus a random delay), then to the end. Held to account:

    complete   every row has its line, once, in order; lines written before a kill are still there
    equal      the file is that of the undisturbed run, byte for byte. What differs is listed: a
               numerical tie (see equality.py) or a rounded probability is told and let pass
    kept       no row that had its answer in the journal is asked again
    frugal     rows begun and asked again are at most --limit-percent of all rows

A batch has many rows under way, and each kill interrupts them all: the report says how many of
the rows begun were being computed (at most the batch's width) and how many only waited their turn.
Exit code: 0 all of it holds, 1 something does not, 2 cannot run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from common import say
from killable import CannotRunError, Command, Finished, Journal, Kill, run_and_kill, run_to_end
from result_diff import LineDifference, compare_files
from sample_rows import write_rows

from vedette.errors import VedetteError

LONGEST_DELAY_S = 0.3
"""Between the answered row that a kill waits for and the kill: several steps of the engine."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found. `problems` are the broken promises, a sentence each."""

    model: str
    task: str
    items: int
    width: int
    byte_identical: bool
    differences: tuple[LineDifference, ...]
    begun_again: int
    computed_again: int
    answered_again: int
    kills: tuple[Kill, ...]
    undisturbed_s: float
    disturbed_s: float
    problems: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """For `--json`."""
        body = asdict(self)
        body["differences"] = [asdict(difference) for difference in self.differences]
        body["kills"] = [
            {"answered": k.answered, "in_flight": k.in_flight, "wall_s": round(k.wall_s, 2)}
            for k in self.kills
        ]
        return body

    def as_text(self) -> str:
        """For people."""
        kinds = [difference.kind for difference in self.differences]
        alike = (
            "byte-identical"
            if self.byte_identical
            else (
                f"{len(kinds)} of {self.items} lines differ: {kinds.count('tie')} numerical ties, "
                f"{kinds.count('rounding')} rounded numbers, {kinds.count('other')} other"
            )
        )
        at = ", ".join(f"{k.answered}+{k.in_flight}" for k in self.kills)
        lines = [
            f"{self.task} with {self.model}, {self.items} rows, width {self.width}, "
            f"{len(self.kills)} kills",
            f"  rows answered + under way at each kill: {at}",
            f"  result: {alike}",
            f"  answered rows asked again: {self.answered_again}",
            f"  rows begun again: {self._share(self.begun_again)}, of which at most "
            f"{self._share(self.computed_again)} were being computed",
            f"  wall time: {self.undisturbed_s:.1f} s undisturbed, {self.disturbed_s:.1f} s with "
            f"{len(self.kills) + 1} starts",
        ]
        for difference in self.differences:
            if difference.kind != "rounding":
                lines.append(difference.as_text())
        lines += [f"  BROKEN {problem}" for problem in self.problems] or ["  all promises hold"]
        return "\n".join(lines)

    def _share(self, rows: int) -> str:
        return f"{rows} ({100 * rows / self.items:.1f}%)"


def measure(args: argparse.Namespace, folder: Path) -> Report:
    """The whole benchmark. Raises `CannotRunError`."""
    rows = folder / "rows.jsonl"
    ids = write_rows(rows, args.items, args.seed)
    if len(ids) < args.items:
        raise CannotRunError(f"only {len(ids)} distinct rows could be made")
    more = [
        x
        for name in ("width", "workers", "threads")
        if (value := getattr(args, name))
        for x in (f"--{name}", str(value))
    ]
    command = Command(args.task, args.model, rows, tuple(more))
    calm, rough = folder / "undisturbed.jsonl", folder / "killed.jsonl"
    say("undisturbed run ...")
    reference = run_to_end(command, calm)
    say(f"  {reference.wall_s:.1f} s")
    began = time.monotonic()
    kills = _kill_many(command, rough, args)
    last = run_to_end(command, rough)
    disturbed_s = time.monotonic() - began
    journal = Journal(Path(f"{rough}.journal"))
    journal.read_on()
    say("comparing ...")
    differences = compare_files(calm, rough, rows, args.model, args.task)
    problems = [
        *_completeness(ids, rough, kills),
        *_thrift(args, journal, kills, last),
        *(f"line of {d.row}: {d.what}" for d in differences if d.kind == "other"),
    ]
    return Report(
        model=args.model,
        task=args.task,
        items=args.items,
        width=args.width,
        byte_identical=calm.read_bytes() == rough.read_bytes(),
        differences=tuple(differences),
        begun_again=journal.begun_again,
        computed_again=sum(min(kill.in_flight, args.width) for kill in kills),
        answered_again=_answered_again(journal),
        kills=tuple(kills),
        undisturbed_s=reference.wall_s,
        disturbed_s=disturbed_s,
        problems=tuple(problems),
    )


def _kill_many(command: Command, out: Path, args: argparse.Namespace) -> list[Kill]:
    """Kill at random moments in ascending order; two near each other hit the second one's load."""
    rng = random.Random(args.seed)
    targets = sorted(rng.randrange(args.items) for _ in range(args.kills))
    kills: list[Kill] = []
    for number, target in enumerate(targets, start=1):
        kill = run_and_kill(command, out, target, rng.uniform(0, LONGEST_DELAY_S))
        if kill is None:
            say(f"  kill {number}: the run had ended before {target} rows were seen")
            break
        say(f"  kill {number}: {kill.answered} rows answered, {kill.in_flight} under way")
        kills.append(kill)
    return kills


def _completeness(ids: Sequence[str], out: Path, kills: Sequence[Kill]) -> list[str]:
    data = out.read_bytes()
    found = [str(json.loads(line)["id"]) for line in data.splitlines()]
    problems = []
    if lost := [row for row in ids if row not in set(found)]:
        problems.append(f"{len(lost)} rows are lost, the first is {lost[0]}")
    if doubled := len(found) - len(set(found)):
        problems.append(f"{doubled} lines are doubled")
    if not problems and found != list(ids):
        problems.append("the lines are not in the order of the rows")
    changed = [n for n, kill in enumerate(kills, 1) if not data.startswith(kill.written)]
    if changed:
        problems.append(f"lines written before kill {changed[0]} were changed afterwards")
    return problems


def _answered_again(journal: Journal) -> int:
    return journal.begun_after_answer + sum(n - 1 for n in journal.answers.values())


def _thrift(
    args: argparse.Namespace, journal: Journal, kills: Sequence[Kill], last: Finished
) -> list[str]:
    problems = []
    if len(kills) < args.kills:
        problems.append(f"only {len(kills)} of {args.kills} kills came before the end of the work")
    if again := _answered_again(journal):
        problems.append(f"{again} rows with an answer in the journal were asked again")
    percent = 100 * journal.begun_again / args.items
    if percent > args.limit_percent:
        problems.append(
            f"{journal.begun_again} rows were begun again: {percent:.1f}% of {args.items}, "
            f"the limit is {args.limit_percent:g}%"
        )
    told, seen = last.summary["done_again"], kills[-1].in_flight if kills else 0
    if told != seen:
        problems.append(f"the last summary says {told} rows done again, the journal says {seen}")
    return problems


def parse_args() -> argparse.Namespace:
    """The options; wrong ones end the program with exit code 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--task", choices=("extract", "classify"), default="extract")
    parser.add_argument("--items", type=int, default=500, help="rows (500)")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7, help="of the rows and of the moments")
    parser.add_argument("--width", type=int, default=16, help="most sequences in a batch (16)")
    parser.add_argument("--workers", type=int, help="rows under way at once (the command's own)")
    parser.add_argument("--threads", type=int, help="CPU threads (the command's own)")
    parser.add_argument("--limit-percent", type=float, default=2.0)
    parser.add_argument("--folder", type=Path, help="keep rows, results and journals in here")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    for name in ("items", "kills", "width"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; it must be at least 1")
    for name in ("workers", "threads"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; it must be at least 1")
    return args


def main() -> int:
    args = parse_args()
    try:
        if args.folder:
            args.folder.mkdir(parents=True, exist_ok=True)
            report = measure(args, Path(tempfile.mkdtemp(prefix="kills-", dir=args.folder)))
        else:
            with tempfile.TemporaryDirectory() as folder:
                report = measure(args, Path(folder))
    except (CannotRunError, VedetteError, OSError) as error:
        say(f"error: {error}")
        return 2
    print(json.dumps(report.as_dict(), ensure_ascii=False) if args.json else report.as_text())
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
