"""`vedette sentiment`: how texts feel about their subject."""

from __future__ import annotations

from typing import Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job


def sentiment(
    *paths: PathOrStdin,
    prior: Literal["stream", "content-free", "none"] = "stream",
    options: JobOptions | None = None,
) -> int:
    """Say of each text whether it is positive, negative or neutral, with probabilities.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    prior
        Correct for what the model prefers whatever it reads; see vedette classify.
    """
    from vedette.tasks.presets.build import sentiment as build

    check_paths(paths, sentiment)
    return run_job(build(prior=prior), paths, options or JobOptions())
