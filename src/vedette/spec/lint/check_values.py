"""Values: missing ones, those out of range or not among the choices, and flags that stand twice."""

from __future__ import annotations

import re

from .case import Case
from .flag_table import Flag, canonical
from .options import Option
from .settings import Setting, known
from .words import EnvEntry

_SWITCH_WORDS = frozenset(("1", "0", "true", "false", "enabled", "disabled", "on", "off"))
_LAYER_WORDS = ("auto", "all")
_FLASH_ATTENTION = ("-fa", "--flash-attn")
# Each use of these adds something; the rest are settings, of which the last one counts.
_REPEATABLE = frozenset((
    "--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled", "--override-kv",
    "--override-tensor", "--override-tensor-draft", "--spec-draft-override-tensor",
    "--logit-bias", "--dry-sequence-breaker", "--reverse-prompt", "--spec-replace",
    "--spec-draft-replace", "--alias", "--api-key", "--verbose", "--rpc",
))  # fmt: skip


def check_values(case: Case) -> None:
    """Look at every value as the server's parser would."""
    for word in case.reading.strays:
        if not word.dynamic:
            case.report(
                "stray-word",
                "error",
                word,
                f"{word.value!r} belongs to no flag, and the server takes no bare words",
                "quote it with the value that it belongs to, or leave it out",
            )
    for option in [each for each in case.live() if not each.inherited]:
        if option.missing:
            _missing(case, option)
        elif option.joined:
            case.report(
                "joined-value",
                "error",
                option,
                f"{option.written} and its value are one word; llama.cpp takes them as two",
                " ".join([option.name, *option.values]),
                mended=True,
            )
        if option.values and not option.dynamic and option.word is not None:
            _value(case, option)
    _twice(case)
    _flag_and_variable(case)


def _missing(case: Case, option: Option) -> None:
    flag = case.target.table.find(option.name)
    if flag is not None and set(_FLASH_ATTENTION) & set(flag.names):
        option.values, option.missing = ["on"], False
        case.report(
            "missing-value",
            "error",
            option,
            f"{option.written} needs a value in this build",
            f"{option.name} on",
            mended=True,
        )
        return
    case.report(
        "missing-value",
        "error",
        option,
        f"{option.written} has no value",
        "give it one, or leave it out",
    )


def _value(case: Case, option: Option) -> None:
    flag = case.target.table.live(option.name)
    setting = known().of_name(option.name)
    value = option.values[0]
    if setting is not None and setting.kind != "text":
        _number(case, option, setting, value)
    elif flag is not None and flag.choices and not flag.listed and "--spec-type" not in flag.names:
        _choice(case, option, flag, value)
    elif flag is not None and flag.values[:1] == ("N",) and re.fullmatch(r"\d+[kKmM]", value):
        case.report(
            "cut-number",
            "silent",
            option,
            f"{option.name} {value}: the server reads {value[:-1]} and drops the letter",
            "write the number out",
        )


def _choice(case: Case, option: Option, flag: Flag, value: str) -> None:
    allowed = {*flag.choices, *(_SWITCH_WORDS if "on" in flag.choices else ())}
    if value not in allowed:
        case.report(
            "bad-value",
            "error",
            option,
            f"{option.name} cannot be {value!r}",
            f"choose from {', '.join(flag.choices)}",
        )


def _number(case: Case, option: Option, setting: Setting, value: str) -> None:
    if setting.kind == "layers" and value in _LAYER_WORDS:
        return
    whole = re.match(r"\s*[+-]?\d+", value)
    form = r"[+-]?(\d+(\.\d*)?|\.\d+)" if setting.kind == "float" else r"[+-]?\d+"
    if not re.fullmatch(form, value):
        if setting.kind != "float" and whole:
            case.report(
                "cut-number",
                "silent",
                option,
                f"{option.name} {value}: the server reads {whole[0].strip()}",
                "write a whole number",
            )
        else:
            case.report(
                "bad-value",
                "error",
                option,
                f"{option.name} needs a number, not {value!r}",
                "give it one",
            )
        return
    if not setting.least <= float(value) <= setting.most:
        strict = setting.strict or canonical(option.name) in setting.by_type.values()
        case.report(
            "out-of-range",
            "error" if strict else "warning",
            option,
            f"{option.name} {value}: {setting.what} should be from "
            f"{setting.least:g} to {setting.most:g}",
            "give a value in that range",
        )


def _twice(case: Case) -> None:
    """The last one of two counts; the others only mislead."""
    last: dict[str, Option] = {}
    for option in case.live():
        flag = case.target.table.live(option.name)
        if flag is None or set(flag.names) & _REPEATABLE or case.command.grouped:
            continue
        key = flag.names[0]
        before = last.get(key)
        last[key] = option
        if before is None:
            continue
        if option.word is None:  # one that mending added gives way
            before, last[key] = option, before
        shared = before.word is not None and before.word.shared
        before.removed = not shared  # what else uses the variable may need it
        same = before.values == last[key].values and before.name == last[key].name
        case.report(
            "given-twice",
            "warning",
            before if before.word else last[key],
            f"{before.written} is given twice"
            + ("" if same else f"; {' '.join([last[key].name, *last[key].values])} is what counts"),
            "leave the first one out",
            mended=not shared,
        )


def _variable_value(case: Case, entry: EnvEntry, flag: Flag) -> None:
    """A value that the server stops at, in a variable."""
    setting = known().of_variable(entry.name)
    number = r"[+-]?\d*\.?\d+" if setting and setting.kind == "float" else r"[+-]?\d+"
    words = _LAYER_WORDS if setting and setting.kind == "layers" else ()
    is_number = setting is not None and setting.kind != "text"
    allowed = {*flag.choices, *(_SWITCH_WORDS if "on" in flag.choices else ())}
    wrong_number = is_number and not re.match(number, entry.value) and entry.value not in words
    wrong_choice = flag.choices and not flag.listed and entry.value not in allowed
    is_type = "--spec-type" in flag.names
    if not entry.dynamic and (wrong_number or (wrong_choice and not is_type)):
        case.report(
            "bad-value",
            "error",
            entry,
            f"{entry.name} cannot be {entry.value!r}",
            "give it a number" if wrong_number else f"choose from {', '.join(flag.choices)}",
        )


def _flag_and_variable(case: Case) -> None:
    for entry in case.command.env:
        flag = case.target.table.live_variable(entry.name)
        if flag is None or entry.removed:
            continue
        _variable_value(case, entry, flag)
        options = case.named(flag.names[0])
        if options:
            case.report(
                "given-twice",
                "warning",
                entry,
                f"{entry.name} is set, and {options[-1].name} counts instead",
                "leave one of them out",
            )
