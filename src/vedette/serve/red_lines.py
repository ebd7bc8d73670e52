"""Tasks of a client's own words that a small model is not to be trusted with are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vedette.errors import RedLine
from vedette.tasks.base import Task
from vedette.tasks.decide import Decide
from vedette.tasks.red_lines.verdict import check_tasks
from vedette.types import Json

from .verbs.together import Together

DESCRIBED = frozenset({"classify", "decide", "extract", "form"})
"""Tasks of which a client says in words what is to be done, as on the command line."""

FORCE = 'ask a larger model, or give "force": true to go on all the same'


def refuse_red_lines(name: str, options: Mapping[str, Json], work: Task | Together) -> None:
    """Raise `RedLine` where what is asked for in words crosses a red line.

    By rules, as on the command line. Inputs are never looked at: they are data.
    """
    if name not in DESCRIBED:
        return
    try:
        check_tasks(_told(options, work), has_input=True)
    except RedLine as error:
        raise RedLine(error.message, hint=FORCE) from error


def _told(options: Mapping[str, Json], work: Task | Together) -> Iterator[str]:
    if isinstance(work, Decide):
        yield from (question.instructions for question in work.questions)
    yield str(options.get("instructions") or "")
