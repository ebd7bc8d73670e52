"""`vedette sql`: questions to SELECT statements over a database, and to rows."""

from __future__ import annotations

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job


def sql(
    *paths: PathOrStdin,
    database: str,
    tables: str | None = None,
    rows: int = 0,
    values: int | None = None,
    instructions: str = "",
    max_tokens: int = 256,
    options: JobOptions | None = None,
) -> int:
    """Write the SELECT statement that answers each question; run it, if asked to.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin: a question in each row.
    database
        A SQLite file, or a URL like postgresql+psycopg://USER@HOST/NAME. It is only ever read.
    tables
        Only these tables, with commas between them.
    rows
        Run the statement and give back at most so many rows; 0 does not run it.
    values
        Show the model the values of text columns that have at most so many; 0 shows none.
    instructions
        A sentence more for the model.
    max_tokens
        Most tokens of a statement.
    """
    from vedette.errors import InputError
    from vedette.tasks.sql.database import Database
    from vedette.tasks.sql.reflect import MAX_VALUES, read_schema
    from vedette.tasks.sql.task import AskDatabase

    check_paths(paths, sql)
    names = tuple(name.strip() for name in tables.split(",")) if tables is not None else ()
    if "" in names:
        raise InputError("--tables has an empty name")
    if values is not None and values < 0:
        raise InputError(f"--values is {values}; it must be at least 0")
    source = Database(database)
    schema = read_schema(source, names, max_values=MAX_VALUES if values is None else values)
    task = AskDatabase(
        database=source,
        schema=schema,
        rows=rows,
        instructions=instructions,
        max_tokens=max_tokens,
    )
    return run_job(task, paths, options or JobOptions())
