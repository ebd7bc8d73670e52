"""Faults of vedette itself as its log tells them: what and where, and never about which text."""

from __future__ import annotations

import traceback


def told(error: BaseException) -> str:
    """The types of an error and of what caused it, the cause first, with their places in the code.

    No messages: those of validators and parsers quote what a client sent.
    """
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    lines = [told(before)] if before is not None else []
    lines.append(f"{type(error).__module__}.{type(error).__qualname__}, raised by")
    lines += [
        f"  {frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    return "\n".join(lines)
