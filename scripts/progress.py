"""Run a long command and show that it moves.

On a terminal one line is kept up to date; elsewhere a line is written every 15 seconds. The whole
output of the command goes to a log file, whose end is printed if the command fails. Standard
library only: it runs before anything is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

REFRESH_SECONDS = 0.25
HEARTBEAT_SECONDS = 15.0
TAIL_LINES = 25

STEPS = re.compile(r"^\s*\[\s*(\d+/\d+|\d+%)\]")  # ninja writes [3/193], make [ 12%]
PHASES = (
    (re.compile(r"^\s*Building (?:wheel|editable) for (\S+).*started"), "building {}"),
    (re.compile(r"^\s*Collecting ([\w.-]+)"), "fetching {}"),
    (re.compile(r"^\s*Installing build dependencies: started()"), "fetching build tools"),
    (re.compile(r"^\s*Installing collected packages()"), "installing packages"),
)


class Reading:
    """What the output says so far: the phase, and how many steps of it are done."""

    def __init__(self, label: str) -> None:
        self.phase = label
        self.steps = ""
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)

    def take(self, line: str) -> None:
        """Learn from one line of output."""
        self.tail.append(line.rstrip("\n"))
        if steps := STEPS.match(line):
            self.steps = steps[1]
            return
        for pattern, words in PHASES:
            if found := pattern.match(line):
                self.phase, self.steps = words.format(found[1]), ""
                return

    def describe(self, elapsed_seconds: float) -> str:
        """One line: elapsed time, phase, steps."""
        minutes, seconds = divmod(int(elapsed_seconds), 60)
        return f"  {minutes:2d}:{seconds:02d}  {self.phase}  {self.steps}".rstrip()


def run(
    command: Sequence[str],
    *,
    log: Path,
    label: str,
    env: Mapping[str, str] | None = None,
    out: TextIO = sys.stdout,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> int:
    """Run `command`, show its progress on `out`, return its exit code. `log` is overwritten."""
    reading = Reading(label)
    process = subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    reader = threading.Thread(target=_drain, args=(process, reading, log), daemon=True)
    reader.start()
    try:
        _show(reader, reading, out, heartbeat_seconds)
        process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        print(f"\nInterrupted. Log: {log}", file=out)
        return 130
    if process.returncode:
        print(*reading.tail, sep="\n", file=out)
        print(f"Failed with exit code {process.returncode}. Full log: {log}", file=out)
    return process.returncode


def _drain(process: subprocess.Popen[str], reading: Reading, log: Path) -> None:
    assert process.stdout is not None
    with process.stdout as output, log.open("w", encoding="utf-8") as file:
        for line in output:
            file.write(line)
            file.flush()
            reading.take(line)


def _show(
    reader: threading.Thread, reading: Reading, out: TextIO, heartbeat_seconds: float
) -> None:
    """Describe the state again and again until the output has ended, and once more then."""
    started = time.monotonic()
    live = out.isatty()
    while reader.is_alive():
        reader.join(timeout=REFRESH_SECONDS if live else heartbeat_seconds)
        line = reading.describe(time.monotonic() - started)
        if live:
            width = shutil.get_terminal_size().columns - 1
            out.write(f"\r\x1b[K{line[:width]}")  # back to the start, clear the rest of the line
        else:
            out.write(f"{line}\n")
        out.flush()
    if live:
        out.write("\n")
