"""`vedette tool`: texts to calls of tools, or to none."""

from __future__ import annotations

from typing import Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job


def tool(
    *paths: PathOrStdin,
    tools: str,
    required: bool = False,
    parallel: int = 1,
    call_above: float | None = None,
    prior: Literal["content-free", "none"] = "content-free",
    instructions: str = "",
    max_tokens: int | None = None,
    options: JobOptions | None = None,
) -> int:
    """Say which tool each text asks for, with its arguments, or that it asks for none.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    tools
        A JSON file with a list of OpenAI tool definitions, or of bare functions.
    required
        Some tool must be called: none of them is no answer.
    parallel
        Most calls for one text.
    call_above
        Call a tool only if the tools together are more probable than this, from 0 to 1. Lower it
        where calls are missed, raise it where there are calls that should not be.
    prior
        Divide out what the model prefers whatever it reads, measured once on texts that say
        nothing (content-free), or leave the scores as they are (none).
    instructions
        A sentence more for the model.
    max_tokens
        Most tokens of the arguments; by default what the schemas can need.
    """
    from vedette.cli.schema import warn_of
    from vedette.errors import InputError
    from vedette.tasks.tool import CALL_ABOVE, CallTools
    from vedette.tasks.tool_defs import parse_tools

    check_paths(paths, tool)
    if required and call_above is not None:
        raise InputError("with --required some tool is called, so --call-above has no effect")
    definitions = parse_tools(read_text(tools, "tools"), tools)
    for definition in definitions:
        warn_of(definition.parameters, where=f"tool {definition.name!r}: ")
    task = CallTools(
        tools=definitions,
        parallel=parallel,
        required=required,
        call_above=CALL_ABOVE if call_above is None else call_above,
        prior=prior,
        instructions=instructions,
        max_tokens=max_tokens,
    )
    return run_job(task, paths, options or JobOptions())
