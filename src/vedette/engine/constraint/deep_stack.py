"""Room for code that recurses as deep as its input: the grammar engine's compiler does.

It walks rules and references recursively, and where the stack of the calling thread ends, the
process ends. On a thread of its own with a large stack (address space, hardly memory), it can
follow any chain that a source of `MAX_SOURCE_BYTES` can hold.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from vedette.errors import EngineFailed, InputError

T = TypeVar("T")

MAX_SOURCE_BYTES = 1_000_000
STACK_BYTES = 1 << 30

_lock = threading.Lock()


def check_size(source: str) -> None:
    """Raise `InputError` for a grammar that is no text or larger than can be compiled safely."""
    try:
        n_bytes = len(source.encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"the grammar holds half of a surrogate pair at character {error.start + 1}",
            hint="write a character beyond U+FFFF as itself, not as two halves",
        ) from error
    if n_bytes > MAX_SOURCE_BYTES:
        raise InputError(
            f"the grammar has over {MAX_SOURCE_BYTES:,} bytes",
            hint="a small model needs a small grammar: leave out what the task does not use",
        )


def on_deep_stack(work: Callable[[], T]) -> T:
    """Run `work` on a thread with a large stack; its result, or its exception.

    Raises `EngineFailed` where the system gives no such thread.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    with _lock:  # the size holds for every thread that is started meanwhile
        before = threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="vedette-compile", daemon=True)
            thread.start()
        except RuntimeError as error:
            raise EngineFailed(
                f"the system gives no thread with {STACK_BYTES >> 20} MiB of stack: {error}",
                hint="raise the limit on address space (ulimit -v)",
            ) from error
        finally:
            threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
