"""`vedette route`: which tasks a small model can do, and which need a larger one."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job


def route(
    *paths: PathOrStdin,
    input: str | None = None,
    rules_only: bool = False,
    options: JobOptions | None = None,
) -> int:
    """Say of each task description or question whether a small model can do it, and why not.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin: a task or question for each row.
    input
        The field of a row that holds the text which its task is about.
    rules_only
        Ask no model.
    """
    from vedette.tasks.red_lines.route import Route

    check_paths(paths, route)
    task = Route(rules_only=rules_only, input_column=input)
    columns = (input,) if input else ()
    return run_job(task, paths, options or JobOptions(), columns=columns, asks_model=not rules_only)
