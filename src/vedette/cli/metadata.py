"""`vedette metadata`: what documents say of themselves."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job


def metadata(*paths: PathOrStdin, options: JobOptions | None = None) -> int:
    """Give the title, authors, date, language, kind and topics of each document.

    Title, authors and date are copied from the text, with their offsets.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin. A document in several lines is a row of JSONL, or a block
        with --records blank.
    """
    from vedette.tasks.presets.build import metadata as build

    check_paths(paths, metadata)
    return run_job(build(), paths, options or JobOptions())
