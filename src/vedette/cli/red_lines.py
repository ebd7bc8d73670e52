"""Tasks that a small model is not to be trusted with are refused before it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vedette.cli.job import JobOptions, settings_of
from vedette.errors import ModelNotFound, RedLine

if TYPE_CHECKING:
    from vedette.config import Settings

SMALL_PARAMETERS = 8e9
"""The most weights of a small model."""


def refuse_red_lines(
    tasks: Iterable[str], options: JobOptions, *, force: bool, has_input: bool = True
) -> None:
    """Raise `RedLine` for a task description or question that crosses a red line.

    Not with `force`, and not where a larger model answers. `has_input`: each row is a text to
    work on.
    """
    from vedette.tasks.red_lines.verdict import check_tasks

    if force:
        return
    try:
        check_tasks(tasks, has_input=has_input)
    except RedLine:
        if is_small(settings_of(options)):
            raise


def is_small(settings: Settings) -> bool:
    """Whether the model is a small one. A server that somebody else runs may have one of any size.

    One that is still to be fetched counts as small.
    """
    from vedette.backends.address import InProcess, OwnServer, parse_address
    from vedette.models.gguf_facts import read_facts
    from vedette.models.locate import locate

    address = parse_address(settings.backend)
    if not isinstance(address, InProcess | OwnServer):
        return False
    try:
        weights = locate(address.model or settings.model)
    except ModelNotFound:
        return True
    return read_facts(weights.path).n_parameters <= SMALL_PARAMETERS
