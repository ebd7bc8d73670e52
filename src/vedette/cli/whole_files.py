"""Verbs for which a plain file is one text, and not a row a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from vedette.cli.job import JobOptions

NEVER = "(?!)"  # a pattern that opens no record: the whole file is one


def as_texts(paths: tuple[str, ...], options: JobOptions) -> JobOptions:
    """The options with which each plain file is one row, unless they say what a row is."""
    if options.records == "line" and options.pattern is None and is_plain(paths, options):
        return replace(options, records="regex", pattern=NEVER)
    return options


def is_plain(paths: tuple[str, ...], options: JobOptions) -> bool:
    """Whether a plain file is among the inputs."""
    from vedette.batch.inputs import SUFFIXES
    from vedette.pictures.formats import SUFFIXES as PICTURE_SUFFIXES

    if options.format != "auto":
        return options.format == "lines"
    return any(
        PurePath(path.removesuffix(".gz")).suffix.lower() not in (*SUFFIXES, *PICTURE_SUFFIXES)
        for path in paths or ("-",)
    )
