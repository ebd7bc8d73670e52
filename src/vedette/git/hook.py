"""A prepare-commit-msg hook that suggests a message, and never stops a commit."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from vedette.errors import FileError, InputError

from .repository import Repository

NAME = "prepare-commit-msg"
_MARK = "# written by `vedette commit --hook install`; `--hook uninstall` takes it away"

# Only where git has no message yet: not with -m, -F, a template, a merge, a squash or --amend.
_SCRIPT = """\
#!/bin/sh
{mark}
[ -z "$2" ] || exit 0
suggestion="$1.vedette"
if {command} > "$suggestion"; then
  cat "$1" >> "$suggestion" && cat "$suggestion" > "$1"
else
  echo "vedette: no message was suggested (see above); the commit goes on without one" >&2
fi
rm -f "$suggestion"
exit 0
"""


def install(repository: Repository, arguments: Sequence[str]) -> Path:
    """Write the hook, which calls `vedette commit` with these arguments; returns where it is.

    Raises `InputError` where another hook of that name is, which stays as it is.
    """
    path = repository.hook_path(NAME)
    if path.exists() and not _is_ours(path):
        raise InputError(
            f"there is another {NAME} hook: {path}",
            hint="take it away first, or call `vedette commit` in it",
        )
    command = [sys.executable, "-m", "vedette.cli.main", "commit", *arguments]
    script = _SCRIPT.format(mark=_MARK, command=shlex.join(command))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, "utf-8")
        path.chmod(0o755)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    return path


def uninstall(repository: Repository) -> Path:
    """Take the hook away; returns where it was. Raises `InputError` where there is none of ours."""
    path = repository.hook_path(NAME)
    if not path.exists() or not _is_ours(path):
        raise InputError(f"vedette has no {NAME} hook here: {path}")
    try:
        os.unlink(path)
    except OSError as error:
        raise FileError(f"cannot remove {path}: {error.strerror}") from error
    return path


def _is_ours(path: Path) -> bool:
    try:
        return _MARK in path.read_text("utf-8", "replace")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
