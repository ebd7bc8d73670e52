"""`vedette config-text`: texts to configuration files."""

from __future__ import annotations

from typing import Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job


def config_text(
    *paths: PathOrStdin,
    schema: str,
    to: Literal["ini", "toml", "env"],
    section: str = "main",
    instructions: str = "",
    max_tokens: int | None = None,
    options: JobOptions | None = None,
) -> int:
    """Write a configuration file for what each text asks for, valid under a schema.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    schema
        A file with a JSON Schema of the keys; objects in it are the sections.
    to
        What is written: ini, toml or env.
    section
        With --to ini: the section of keys that are in no object.
    instructions
        A sentence more for the model.
    max_tokens
        Most tokens of an answer; by default what the schema can need.
    """
    from vedette.cli.schema import read_schema
    from vedette.tasks.config_text import WriteConfig

    check_paths(paths, config_text)
    task = WriteConfig(
        schema=read_schema(schema),
        format=to,
        section=section,
        instructions=instructions,
        max_tokens=max_tokens,
    )
    return run_job(task, paths, options or JobOptions())
