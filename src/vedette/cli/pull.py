"""`vedette pull`: get a model's weights."""

from __future__ import annotations

import sys

from vedette.cli.console import note
from vedette.models.progress import progress_for_stderr
from vedette.models.pull import pull as pull_model


def pull(name: str, *, quiet: bool = False) -> int:
    """Fetch a model's weights and print their path; at once if they are here already.

    An interrupted pull goes on where it stopped. The file is checked by its SHA-256 before it gets
    its name.

    Parameters
    ----------
    name
        A name of `vedette models`, hf:user/repo:QUANT or hf:user/repo/file.gguf.
    quiet
        No progress and no notes on stderr.
    """
    try:
        path = pull_model(name, progress=progress_for_stderr(quiet=quiet))
    except KeyboardInterrupt:
        note(f"stopped; `vedette pull {name}` goes on from here", quiet=quiet)
        raise
    sys.stdout.write(f"{path}\n")
    return 0
