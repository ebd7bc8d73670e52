"""The shared library: loaded once, its log kept instead of printed."""

from __future__ import annotations

import ctypes
import threading
from collections import deque

import llama_cpp

_LOG_LINES = 60
_log: deque[str] = deque(maxlen=_LOG_LINES)
_lock = threading.Lock()
_started = False


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def keep_line(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    """Takes a line of the log of llama.cpp, or of a library beside it."""
    line = text.decode("utf-8", "replace").rstrip()
    if line:
        _log.append(line)


def start() -> None:
    """Initialise llama.cpp once per process and take its log away from stderr."""
    global _started
    with _lock:
        if not _started:
            llama_cpp.llama_log_set(keep_line, ctypes.c_void_p(0))
            llama_cpp.llama_backend_init()
            _started = True


def last_complaint() -> str:
    """The newest log line that names a failure, for error messages; '' if there is none."""
    for line in reversed([*_log]):  # a copy: other threads log meanwhile
        lowered = line.lower()
        if "error" in lowered or "failed" in lowered or "unsupported" in lowered:
            return line
    return ""


def system_info() -> str:
    """Which CPU features and back ends this build of llama.cpp uses, in its own words."""
    start()
    return str(llama_cpp.llama_print_system_info().decode())


def binding_version() -> str:
    """Version of the Python binding."""
    return str(llama_cpp.__version__)
