"""`vedette command`: texts to command lines of one program."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job


def command(
    *paths: PathOrStdin,
    spec: str,
    instructions: str = "",
    max_tokens: int = 256,
    options: JobOptions | None = None,
) -> int:
    """Write the command line that each text asks for; nothing is run.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    spec
        A JSON file that says what the program takes: {"prog", "help", "options", "positionals",
        "subcommands"}.
    instructions
        A sentence more for the model.
    max_tokens
        Most tokens of a command line.
    """
    from vedette.tasks.command import WriteCommand
    from vedette.tasks.command_spec import parse_spec

    check_paths(paths, command)
    task = WriteCommand(
        spec=parse_spec(read_text(spec, "specification"), spec),
        instructions=instructions,
        max_tokens=max_tokens,
    )
    return run_job(task, paths, options or JobOptions())
