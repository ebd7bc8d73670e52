"""`vedette tag`: tags for texts, free ones or those of a list."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job
from vedette.errors import InputError


def tag(
    *paths: PathOrStdin,
    labels: str | None = None,
    most: int | None = None,
    threshold: float | None = None,
    options: JobOptions | None = None,
) -> int:
    """Give each text tags: in words of the model's own, or with --labels those that apply.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    labels
        The tags to choose from: separated by commas, or a file as for vedette classify --labels.
        Each gets the probability that it applies.
    most
        Most tags of a text: 5 for free ones, by default any number of a list's.
    threshold
        With --labels: tags over this probability apply (0.5).
    """
    from vedette.tasks.labels import read_labels
    from vedette.tasks.presets.build import MOST_TAGS, free_tags, listed_tags

    check_paths(paths, tag)
    options = options or JobOptions()
    if labels is not None:
        task = listed_tags(read_labels(labels), most=most, threshold=threshold)
        return run_job(task, paths, options)
    if threshold is not None:
        raise InputError("--threshold goes with --labels")
    return run_job(free_tags(MOST_TAGS if most is None else most), paths, options)
