"""`vedette triage`: tickets sorted by category, urgency, anger and team."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job


def triage(
    *paths: PathOrStdin,
    categories: str | None = None,
    teams: str | None = None,
    options: JobOptions | None = None,
) -> int:
    """Sort tickets: what each is about, how urgent, whether its writer is angry, whose it is.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    categories
        Categories of your own: separated by commas, or a file as for vedette classify --labels.
    teams
        Teams of your own, given in the same way.
    """
    from vedette.tasks.labels import read_labels
    from vedette.tasks.presets.build import triage as build

    check_paths(paths, triage)
    task = build(
        read_labels(categories) if categories is not None else (),
        read_labels(teams) if teams is not None else (),
    )
    return run_job(task, paths, options or JobOptions())
