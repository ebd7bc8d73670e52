"""A grammar for exactly the command lines that a specification allows.

Options come in any order, each at most once, the required ones always; then the positionals;
then options that take an open number of values, which would swallow positionals after them; last
the subcommand with what is its own. Values are words as a POSIX shell reads them, and as
`shlex.split` does: bare where nothing in them is special, quoted otherwise. They do not begin
with a dash, so that none is taken for an option.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from vedette.engine.constraint.verbatim import lark_literal

from .command_spec import Argument, CommandSpec

MOST_VALUE_CHARS = 200
# A parameter of a rule has 64 bits, one for each option that was given already.
_OPTIONS_PER_RULE = 60

_BARE = r"[A-Za-z0-9_@%+=:,.\/]"
_CONTROL = r"\x00-\x1f\x7f"
_N = MOST_VALUE_CHARS - 1

# What is left out of double quotes means something to a shell there, backslashes included.
_TERMINALS = f"""\
STRING: BARE | SINGLE | DOUBLE
BARE: /{_BARE}({_BARE[:-1]}-]){{0,{_N}}}/
SINGLE: /'(([^'\\-{_CONTROL}]|'"'"')([^'{_CONTROL}]|'"'"'){{0,{_N}}})?'/
DOUBLE: /"(([^"\\\\$`!\\-{_CONTROL}]|\\\\["\\\\])([^"\\\\$`!{_CONTROL}]|\\\\["\\\\]){{0,{_N}}})?"/
NATURAL: /0|[1-9][0-9]{{0,15}}/
INTEGER: /-?(0|[1-9][0-9]{{0,15}})/
DECIMAL: /(0|[1-9][0-9]{{0,15}})(\\.[0-9]{{1,15}})?/
NUMBER: /-?(0|[1-9][0-9]{{0,15}})(\\.[0-9]{{1,15}})?/
"""


def grammar_of(spec: CommandSpec) -> str:
    """The grammar in llguidance's Lark; its rules are named by their place in the specification."""
    return "\n".join([*_command(spec, "start", lark_literal(spec.name)), _TERMINALS])


def spellings(text: str) -> tuple[str, ...]:
    """The ways to write a value as one word: as it is, and in either kind of quotes."""
    plain = shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    double = () if set("$`!") & set(text) else (f'"{escaped}"',)
    single = () if "'" in text else (f"'{text}'",)
    return tuple(dict.fromkeys((plain, *single, *double)))


def _command(spec: CommandSpec, rule: str, head: str) -> Iterator[str]:
    """The rule of a command, and those that it uses."""
    fixed = [option for option in spec.options if option.count.is_fixed]
    loose = [option for option in spec.options if not option.count.is_fixed]
    if not spec.positionals:  # nothing to be swallowed
        fixed, loose = [*spec.options], []
    parts, rules = [head], list[str]()
    for name, options in (("fixed", fixed), ("loose", loose)):
        for at in range(0, len(options), _OPTIONS_PER_RULE):
            part = f"{_named(rule)}_{name}_{at}"
            parts.append(f"{part}::0x0")
            rules.extend(_any_order(options[at : at + _OPTIONS_PER_RULE], part, spec))
        if name == "fixed":
            parts.extend(_values(part, spec) for part in spec.positionals)
    if spec.subcommands:
        subs = [f"{_named(rule)}_sub_{i}" for i in range(len(spec.subcommands))]
        parts.append(f"({' | '.join(subs)})")
        for sub, name in zip(spec.subcommands, subs, strict=True):
            rules.extend(_command(sub, name, f'" " {lark_literal(sub.name)}'))
    yield f"{rule}: {' '.join(parts)}"
    yield from rules


def _named(rule: str) -> str:
    return "c" if rule == "start" else rule


def _any_order(options: Sequence[Argument], rule: str, spec: CommandSpec) -> Iterator[str]:
    """Each option at most once, and an end only when all that are required are there."""
    # The space is a token of its own: the longest one wins, so " -v" would rule out " " and -5.
    ordered = sorted(options, key=lambda option: not option.required)
    n_required = sum(option.required for option in ordered)
    end = f" %if is_ones([0:{n_required}])" if n_required else ""
    lines = [f'{rule}::_: ""{end}']
    for i, option in enumerate(ordered):
        flags = " | ".join(map(lark_literal, option.flags))
        lines.append(
            f'" " ({flags}) {_values(option, spec)} {rule}::set_bit({i}) %if bit_clear({i})'
        )
    yield "\n  | ".join(lines)


def _values(argument: Argument, spec: CommandSpec) -> str:
    """The values of an argument, each after a space."""
    if not argument.count.most:
        return ""
    value = f'(" " {_value(argument, spec)})'
    return f"{value}{{{argument.count.least},{argument.count.most}}}"


def _value(argument: Argument, spec: CommandSpec) -> str:
    if argument.choices:
        words = (word for text in argument.choices for word in spellings(text))
        return f"({' | '.join(map(lark_literal, words))})"
    signed = {"integer": "INTEGER", "number": "NUMBER"}
    unsigned = {"integer": "NATURAL", "number": "DECIMAL"}
    return (signed if spec.takes_negative else unsigned).get(argument.type, "STRING")
