"""A specification as a page of help, for the model to read."""

from __future__ import annotations

from collections.abc import Iterator

from .command_spec import Argument, CommandSpec


def usage(spec: CommandSpec) -> str:
    """A line for the program and one for each of its arguments, subcommands indented."""
    return "\n".join(_lines(spec, ""))


def _lines(spec: CommandSpec, indent: str) -> Iterator[str]:
    shown = [spec.name, *(["[options]"] if spec.options else [])]
    shown += [_count(part, part.name) for part in spec.positionals]
    shown += ["subcommand"] if spec.subcommands else []
    yield indent + _with_help(" ".join(shown), spec.help)
    for argument in (*spec.options, *spec.positionals):
        yield f"{indent}  {_with_help(_shown(argument), _notes(argument))}"
    for sub in spec.subcommands:
        yield from _lines(sub, indent + "  ")


def _shown(argument: Argument) -> str:
    if not argument.flags:
        return argument.name
    values = "|".join(argument.choices) or {"string": "TEXT"}.get(argument.type, "N")
    flags = ", ".join(argument.flags)
    return f"{flags} {_count(argument, values)}" if argument.count.most else flags


def _count(argument: Argument, shown: str) -> str:
    """`X`, `X X`, `[X]`, `[X ...]` or `X [X ...]`, as usage lines have it."""
    least, most = argument.count.least, argument.count.most
    given = [shown] * least
    if most > least:
        given.append(f"[{shown}]" if most == 1 else f"[{shown} ...]")
    return " ".join(given)


def _notes(argument: Argument) -> str:
    notes = [argument.help] if argument.help else []
    if not argument.flags and argument.choices:
        notes.append(f"one of {', '.join(argument.choices)}")
    if not argument.flags and argument.type != "string":
        notes.append(f"a {argument.type}")
    if argument.required:
        notes.append("required")
    return "; ".join(notes)


def _with_help(shown: str, text: str) -> str:
    return f"{shown}: {text}" if text else shown
