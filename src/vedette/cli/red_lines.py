"""Tasks that a small model is not to be trusted with are refused before it is loaded."""

from __future__ import annotations

from collections.abc import Iterable

from vedette.cli.job import JobOptions, settings_of


def refuse_red_lines(
    tasks: Iterable[str], options: JobOptions, *, force: bool, has_input: bool = True
) -> None:
    """Raise `RedLine` for a task description or question that crosses a red line.

    Not with `force`, and not where a server answers that somebody else runs: it may serve a model
    of any size. `has_input`: each row is a text to work on.
    """
    from vedette.backends.address import InProcess, OwnServer, parse_address
    from vedette.tasks.red_lines.verdict import check_tasks

    if force:
        return
    if isinstance(parse_address(settings_of(options).backend), InProcess | OwnServer):
        check_tasks(tasks, has_input=has_input)
