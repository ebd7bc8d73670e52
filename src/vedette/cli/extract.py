"""`vedette extract`: texts to JSON that fits a schema."""

from __future__ import annotations

from typing import Any

from vedette.cli.job import (
    JobOptions,
    PathOrStdin,
    check_paths,
    read_text,
    run_job,
    without_lines,
)
from vedette.cli.red_lines import refuse_red_lines
from vedette.errors import InputError


def asked_schema(schema: str | None, fields: str | None, verbatim: str | None) -> dict[str, Any]:
    """The schema of --schema or --fields, with what --verbatim marks. Raises `InputError`."""
    from vedette.cli.schema import read_schema
    from vedette.tasks.fields import schema_of_fields
    from vedette.tasks.verbatim import mark_verbatim

    if (schema is None) == (fields is None):
        raise InputError("extract needs either --schema FILE or --fields LIST")
    body = read_schema(schema) if schema is not None else schema_of_fields(fields or "")
    if verbatim:
        body = mark_verbatim(body, [name.strip() for name in verbatim.split(",")])
    return body


def extract(
    *paths: PathOrStdin,
    schema: str | None = None,
    fields: str | None = None,
    verbatim: str | None = None,
    examples: str | None = None,
    instructions: str = "",
    max_tokens: int | None = None,
    prompt_schema: bool = True,
    thresholds: str | None = None,
    into: str | None = None,
    force: bool = False,
    options: JobOptions | None = None,
) -> int:
    """Turn texts and pictures into JSON that fits a schema, one result line for each row.

    Parameters
    ----------
    paths
        Files, globs, a folder of pictures, or - for stdin.
    schema
        A file with a JSON Schema.
    fields
        Instead of --schema: "level:INFO|WARN|ERROR, service:span, message".
    verbatim
        Names of top-level fields whose value must be copied from the text, separated by commas.
    examples
        A JSONL file of rows with right answers, {"text": ..., "value": {...}}.
    instructions
        A sentence more for the model.
    max_tokens
        Most tokens of an answer; by default what the schema can need.
    prompt_schema
        Show the schema to the model; --prompt-schema=false leaves it out, for fine-tuned models.
    thresholds
        A file that vedette calibrate extract wrote: each line then has its confidence and keep.
    into
        A table for the answers, its columns typed by the schema: sqlite:///FILE?table=NAME or
        postgresql+psycopg://USER@HOST/NAME?table=NAME. Without --out there are no result lines.
    force
        Go on where the task looks like one that a small model is not to be trusted with.
    """
    from vedette.tables import open_store
    from vedette.tasks.examples import extract_examples
    from vedette.tasks.extract import Extract
    from vedette.tasks.extract_thresholds import read_extract_thresholds

    check_paths(paths, extract)
    body = asked_schema(schema, fields, verbatim)
    options = options or JobOptions()
    refuse_red_lines([instructions], options, force=force)
    rows = extract_examples(read_text(examples, "examples"), examples) if examples else ()
    task = Extract(
        schema=body,
        examples=rows,
        instructions=instructions,
        max_tokens=max_tokens,
        prompt_schema=prompt_schema,
        thresholds=read_extract_thresholds(thresholds) if thresholds is not None else None,
    )
    if into is None or options.show_prompt:
        return run_job(task, paths, options)
    store = open_store(into, task.schema)
    return run_job(task, paths, without_lines(options, store.target.journal), into=store)
