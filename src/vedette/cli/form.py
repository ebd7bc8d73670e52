"""`vedette form`: a form filled in from texts, with what is known kept."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job
from vedette.cli.red_lines import refuse_red_lines
from vedette.errors import InputError
from vedette.types import Json


def form(
    *paths: PathOrStdin,
    schema: str,
    known: str | None = None,
    known_field: str | None = None,
    instructions: str = "",
    max_tokens: int | None = None,
    force: bool = False,
    options: JobOptions | None = None,
) -> int:
    """Fill in a form from each text; say what was filled in and what is still to be asked.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    schema
        A file with a JSON Schema: each property is a field, its title or description the question.
    known
        What is known of every row: a JSON object, or a file with one. It is kept as it is.
    known_field
        The field of a row (of JSONL, CSV or Parquet) with what is known of it: a JSON object.
    instructions
        A sentence more for the model.
    max_tokens
        Most tokens of an answer; by default what the schema can need.
    force
        Go on where the task looks like one that a small model is not to be trusted with.
    """
    from vedette.cli.schema import read_schema
    from vedette.tasks.form import FillForm

    check_paths(paths, form)
    options = options or JobOptions()
    refuse_red_lines([instructions], options, force=force)
    task = FillForm(
        schema=read_schema(schema),
        known=_known(known) if known is not None else {},
        known_column=known_field,
        instructions=instructions,
        max_tokens=max_tokens,
    )
    columns = (known_field,) if known_field else ()
    return run_job(task, paths, options, columns=columns)


def _known(spec: str) -> dict[str, Json]:
    """A JSON object from the command line or from a file."""
    import orjson

    is_inline = spec.lstrip().startswith("{")
    try:
        known = orjson.loads(spec if is_inline else read_text(spec, "known values"))
    except orjson.JSONDecodeError as error:
        where = "--known" if is_inline else spec
        raise InputError(f"{where} is not JSON: {error.msg} (line {error.lineno})") from error
    if not isinstance(known, dict):
        raise InputError("--known must be a JSON object of fields and values")
    return known
