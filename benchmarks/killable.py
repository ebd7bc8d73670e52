"""Runs of the vedette command line that can be killed at a chosen moment, and their journals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from common import SCHEMA, SHOTS

LABELS = "debug,info,warning,error,fatal"
POLL_S = 0.01


class CannotRunError(Exception):
    """The benchmark itself failed; nothing is said about the product."""


@dataclass(frozen=True, slots=True)
class Command:
    """The command line under test, without the output."""

    task: str
    model: str
    rows: Path
    more: tuple[str, ...]

    def argv(self, out: Path) -> list[str]:
        """The whole command."""
        asked = {
            "extract": ["--schema", str(SCHEMA), "--examples", str(SHOTS)],
            "classify": ["--labels", LABELS],
        }[self.task]
        verb = [sys.executable, "-m", "vedette.cli.main", self.task, str(self.rows)]
        end = ["--model", self.model, "--out", str(out), "--json", "--quiet", *self.more]
        return verb + asked + end


@dataclass(slots=True)
class Journal:
    """What the lines of a journal say: `key crc start` when a row is begun, `key crc {...}`."""

    path: Path
    starts: dict[bytes, int] = field(default_factory=dict)
    answers: dict[bytes, int] = field(default_factory=dict)
    begun_after_answer: int = 0
    _at: int = 0

    def read_on(self) -> None:
        """Take in the whole lines that have been added. A torn last one waits."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                added = file.read()
        except FileNotFoundError:
            return
        for line in added[: added.rfind(b"\n") + 1].splitlines(keepends=True):
            if self._at:  # the first line is the header
                self._take(line)
            self._at += len(line)

    def _take(self, line: bytes) -> None:
        key, _, body = line.rstrip(b"\n").split(b" ", 2)
        if body == b"start":
            self.begun_after_answer += key in self.answers
            self.starts[key] = self.starts.get(key, 0) + 1
        else:
            self.answers[key] = self.answers.get(key, 0) + 1

    @property
    def in_flight(self) -> int:
        """Rows begun that have no answer yet."""
        return sum(key not in self.answers for key in self.starts)

    @property
    def begun_again(self) -> int:
        """How often a row was begun after its first time."""
        return sum(n - 1 for n in self.starts.values())


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: rows answered by then, rows under way, and whole bytes of result lines."""

    answered: int
    in_flight: int
    wall_s: float
    written: bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended by itself."""

    summary: dict[str, object]
    wall_s: float


def _spawn(command: Command, out: Path, errors: Path) -> subprocess.Popen[bytes]:
    with errors.open("wb") as stderr:
        return subprocess.Popen(
            command.argv(out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=out.parent,  # so that no vedette.toml of this folder changes the job
            start_new_session=True,
        )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for all of it unless it has ended; not reaped yet, its id is still its own."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run_to_end(command: Command, out: Path) -> Finished:
    """Run the command undisturbed. Raises `CannotRunError` when it does not end well."""
    errors = out.with_suffix(".stderr")
    began = time.monotonic()
    process = _spawn(command, out, errors)
    try:
        stdout, _ = process.communicate()
    finally:
        _kill_group(process)
    wall_s = time.monotonic() - began
    if process.returncode not in (0, 1):  # 1: some rows are errors, on their lines
        raise _ended_badly(process, errors)
    return Finished(json.loads(stdout), wall_s)


def run_and_kill(command: Command, out: Path, answered: int, delay_s: float) -> Kill | None:
    """Run until so many rows are answered, wait, kill. None when the run had ended before that."""
    errors = out.with_suffix(".stderr")
    journal = Journal(Path(f"{out}.journal"))
    began = time.monotonic()
    process = _spawn(command, out, errors)
    try:
        while len(journal.answers) < answered and process.poll() is None:
            time.sleep(POLL_S)
            journal.read_on()
        time.sleep(delay_s)
        ended = process.poll() is not None
    finally:
        _kill_group(process)
    if ended and process.returncode not in (0, 1):
        raise _ended_badly(process, errors)
    if ended:
        return None
    wall_s = time.monotonic() - began
    journal.read_on()
    there = out.read_bytes() if out.exists() else b""
    written = there[: there.rfind(b"\n") + 1]
    return Kill(len(journal.answers), journal.in_flight, wall_s, written)


def _ended_badly(process: subprocess.Popen[bytes], errors: Path) -> CannotRunError:
    said = errors.read_text("utf-8", "replace").strip().splitlines()[-1:] or ["nothing"]
    return CannotRunError(f"the command ended with exit code {process.returncode}: {said[0]}")
