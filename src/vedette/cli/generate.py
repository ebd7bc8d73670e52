"""`vedette generate`: texts from prompts, free or under a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vedette.cli.job import (
    JobOptions,
    PathOrStdin,
    check_paths,
    open_backend,
    read_text,
    run_job,
    settings_of,
)
from vedette.cli.red_lines import refuse_red_lines
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.tasks.generate import Generate
    from vedette.types import Constraint, SchemaOptions


def generate(
    *paths: PathOrStdin,
    prompt: str | None = None,
    schema: str | None = None,
    grammar: str | None = None,
    lark: str | None = None,
    regex: str | None = None,
    choices: str | None = None,
    instructions: str = "",
    max_tokens: int = 256,
    temperature: float = 0.0,
    seed: int = 0,
    stop: tuple[str, ...] = (),
    prompt_schema: bool = True,
    strict: bool = False,
    order: Literal["declared", "any"] = "declared",
    think: str = "off",
    force: bool = False,
    options: JobOptions | None = None,
) -> int:
    """Answer prompts, each a row, with text that is what the constraint says, or an error.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    prompt
        One prompt instead of rows; its answer is printed as it is.
    schema
        A file with a JSON Schema.
    grammar
        A GBNF grammar, as llama.cpp reads it: a file, or the text itself.
    lark
        A file with a grammar in llguidance's Lark.
    regex
        A regular expression that the whole answer matches.
    choices
        The answers to choose from, separated by commas.
    instructions
        A system message.
    max_tokens
        Most tokens of an answer. Under a constraint it is brought to a legal end within them.
    temperature
        0 is greedy.
    seed
        Of the sampling, where the temperature is not 0.
    stop
        Texts at which a free answer ends.
    prompt_schema
        Show the schema to the model; --prompt-schema=false leaves it out, for fine-tuned models.
    strict
        With --schema: refuse what can only be checked after the answer.
    order
        With --schema: properties as declared, or in any order that the model likes.
    think
        For models that think first: off, free, or the most tokens of the thought.
    force
        Go on where the task looks like one that a small model is not to be trusted with.
    """
    from vedette.tasks.generate import Generate
    from vedette.types import Sampling, SchemaOptions

    check_paths(paths, generate)
    constraint = _constraint(
        schema, grammar, lark, regex, choices, SchemaOptions(strict=strict, order=order)
    )
    task = Generate(
        constraint=constraint,
        instructions=instructions,
        max_tokens=max_tokens,
        sampling=Sampling(temperature=temperature, seed=seed),
        stop=stop,
        prompt_schema=prompt_schema,
        think=_think(think),
    )
    options = options or JobOptions()
    if prompt is not None and paths:
        raise InputError("give either --prompt or files, not both")
    refuse_red_lines([instructions], options, force=force)
    if prompt is None:
        return run_job(task, paths, options)
    refuse_red_lines([prompt], options, force=force, has_input=False)
    return _answer_one(task, prompt, options)


def _think(text: str) -> Literal["off", "free"] | int:
    if text == "off":
        return "off"
    if text == "free":
        return "free"
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise InputError(f"--think is {text!r}; it must be off, free, or a number of tokens")


def _constraint(
    schema: str | None,
    grammar: str | None,
    lark: str | None,
    regex: str | None,
    choices: str | None,
    options: SchemaOptions,
) -> Constraint | None:
    """The one constraint that was asked for. Raises `InputError` for several."""
    import orjson

    from vedette.cli.schema import read_schema
    from vedette.types import Constraint, SchemaOptions

    given = [
        name
        for name, value in (
            ("--schema", schema),
            ("--grammar", grammar),
            ("--lark", lark),
            ("--regex", regex),
            ("--choices", choices),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise InputError(f"give only one of {' and '.join(given)}")
    if options != SchemaOptions() and schema is None:
        raise InputError("--strict and --order go with --schema")
    if schema is not None:
        body = read_schema(schema, options)
        return Constraint("json_schema", orjson.dumps(body).decode(), options=options)
    if grammar is not None:
        return Constraint("gbnf", grammar if "::=" in grammar else read_text(grammar, "grammar"))
    if lark is not None:
        return Constraint("lark", read_text(lark, "grammar"))
    if regex is not None:
        return Constraint("regex", regex)
    if choices is not None:
        listed = [choice.strip() for choice in choices.split(",")]
        return Constraint("choice", orjson.dumps(listed).decode())
    return None


def _answer_one(task: Generate, prompt: str, options: JobOptions) -> int:
    """Print the answer to one prompt; a cut one is told on stderr."""
    from vedette.batch.single import answer_item
    from vedette.cli.change import check_for_one, print_prompt, write_out
    from vedette.cli.console import note
    from vedette.types import Item

    check_for_one(options)
    if options.json:
        raise InputError("--json is about rows", hint="the answer alone is printed")
    item = Item(id="1", text=prompt)
    backend = open_backend(settings_of(options), quiet=options.quiet)
    try:
        if options.show_prompt:
            print_prompt(task, item, backend)
            return 0
        answer = answer_item(task, item, backend)
    finally:
        backend.close()
    text = answer.value if isinstance(answer.value, str) else _as_json(answer.value)
    write_out(text, options.out)
    if "cut" in answer.extra:
        note(f"the answer was cut: {answer.extra['cut']}", quiet=options.quiet)
    return 0


def _as_json(value: object) -> str:
    import orjson

    return orjson.dumps(value).decode()
