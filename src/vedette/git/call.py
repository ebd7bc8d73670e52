"""Calls of git: fixed arguments, no shell, no pager, nothing of the user's own formatting."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from vedette.errors import InputError

# A file above this is binary to git: no diff of it is computed or held.
BIG_FILE = "4m"

_CONFIG = {
    "core.quotePath": "false",
    "core.bigFileThreshold": BIG_FILE,
    "color.ui": "never",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.suppressBlankEmpty": "false",
    "log.showSignature": "false",
}
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def git(folder: Path, *arguments: str, missing: str | None = None) -> str:
    """What git writes, as text; bytes that are no UTF-8 become U+FFFD.

    With `missing`, an exit code of 1 without a word gives that text instead. Raises `InputError`
    with git's own sentence where it fails, and where there is no git.
    """
    config = [part for key, value in _CONFIG.items() for part in ("-c", f"{key}={value}")]
    command = ["git", "--no-pager", *config, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}") from error
        raise InputError("git was not found", hint="install it, or give a diff file") from error
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    said = done.stderr.decode("utf-8", "replace").strip()
    if missing is not None and done.returncode == 1 and not said:
        return missing
    raise InputError(f"git {arguments[0]}: {_sentence(said) or f'exit code {done.returncode}'}")


def _sentence(said: str) -> str:
    """The first line of an error, without git's own words before it."""
    first = said.splitlines()[0] if said else ""
    for word in ("fatal: ", "error: "):
        first = first.removeprefix(word)
    return first
