"""Jobs: a task over many rows, streamed, resumable, in input order.

`run(Job(...))` is the way in for a job with files, `answers(...)` for items in memory.
"""

from .answers import answers
from .job import Job, check
from .progress import NoProgress, Progress, Snapshot, progress_on
from .results import Outcome
from .rows import BadRow, Row
from .runner import run
from .source import Source
from .summary import Summary

__all__ = [
    "BadRow",
    "Job",
    "NoProgress",
    "Outcome",
    "Progress",
    "Row",
    "Snapshot",
    "Source",
    "Summary",
    "answers",
    "check",
    "progress_on",
    "run",
]
