"""Flags and variables that the build does not know: renamed, removed, newer, misspelt, foreign."""

from __future__ import annotations

from .bundled import bundled_table
from .case import Case
from .flag_table import canonical
from .options import Option
from .settings import Gone, Setting, known
from .target import near_flag
from .words import EnvEntry

_OTHERS = (("ik", "ik_llama.cpp"), ("new", "newer builds"), ("old", "older builds"))
_VARIABLE = "LLAMA_ARG_"
# What the router reads in a section of a preset besides flags.
_PRESET_KEYS = frozenset(("version", "load-on-startup", "stop-timeout"))


def check_names(case: Case) -> None:
    """Give every flag and variable the name that it has in the target, or take it out."""
    _load_mode(case)
    for option in [each for each in case.live() if each.word is not None and not each.inherited]:
        if case.target.table.live(option.name) or _is_preset_key(case, option):
            continue
        setting, gone = known().of_name(option.name), known().gone_flag(option.name)
        if option.name.startswith(_VARIABLE):
            _variable_as_key(case, option)
        elif setting is not None:
            _resolve(case, option, setting)
        elif gone is not None:
            _gone(case, option, gone)
        else:
            _unknown(case, option)
    for entry in case.command.env:
        if not entry.removed and not entry.looked_at and entry.name.startswith(_VARIABLE):
            entry.looked_at = True
            _variable(case, entry)


def _is_preset_key(case: Case, option: Option) -> bool:
    return case.command.grouped and option.name.lstrip("-") in _PRESET_KEYS


def names_for(case: Case, setting: Setting) -> list[str]:
    """Under which flags a setting is given in the target, for the types that are on."""
    table = case.target.table
    by_type = [
        name
        for kind in dict.fromkeys(case.types)
        if (name := setting.by_type.get(kind)) and table.live(name)
    ]
    general = table.first_live(setting.names)
    others = [each for each in case.types if each not in setting.by_type]
    if general and (others or not by_type):
        return [general, *by_type]
    return by_type


def _resolve(case: Case, option: Option, setting: Setting) -> None:
    names = names_for(case, setting)
    if not names:
        option.removed = True
        _note_age(case, option.written, setting)
        case.report(
            "removed-flag",
            "error",
            option,
            f"{option.written} ({setting.what}) is not known to this build: {setting.gone}",
            "leave it out",
            mended=True,
        )
        return
    option.name = names[0]
    if canonical(option.written) in setting.wrong:
        code, what = "no-such-flag", "never existed"
    elif _note_age(case, option.written, setting) == "newer":
        code, what = "newer-flag", "is not known to this build, which is older"
    else:
        code, what = "renamed-flag", "was removed from this build"
    for name in names[1:]:
        case.add(name, option.values, option)
    case.report(
        code,
        "error",
        option,
        f"{option.written} ({setting.what}) {what}",
        " and ".join(" ".join([name, *option.values]) for name in names),
        mended=True,
    )


def _note_age(case: Case, written: str, setting: Setting) -> str:
    """Whether the spelling is that of older or of newer builds than the target."""
    newest = {*setting.by_type.values(), *setting.names[:1]}
    name = canonical(written)
    new_only = name in newest and bundled_table("old").find(name) is None
    age = "newer" if new_only else "older"
    if name not in setting.wrong:
        case.written_for = case.written_for or age
    return age


def _gone(case: Case, option: Option, gone: Gone) -> None:
    instead = [each.format(*option.values) for each in gone.instead]
    if instead and case.target.table.live(instead[0]):
        option.name, option.values = instead[0], instead[1:]
        remedy = " ".join(instead)
    else:
        option.removed, remedy = True, "leave it out"
    case.report(
        "removed-flag",
        "error",
        option,
        f"{option.written} is gone: {gone.why}",
        remedy,
        mended=True,
    )


def _unknown(case: Case, option: Option) -> None:
    table = case.target.table
    owner = next(
        (title for name, title in _OTHERS if bundled_table(name).live(option.name)),
        None,
    )
    near = None if owner else near_flag(option.name, [table])
    if owner:
        message = f"{option.written} is not known to this build; {owner} have it"
        message = message.replace("ik_llama.cpp have", "ik_llama.cpp has")
        remedy = "leave it out, or use that program"
    elif near:
        message, remedy = f"{option.written} is not known; {near} is near it", f"write {near}"
    else:
        message, remedy = f"{option.written} is not known to this build", "leave it out"
    if table.complete:
        case.report("unknown-flag", "error", option, message, remedy)
    elif near or owner:
        case.report(
            "unknown-flag", "warning", option, message, f"{remedy}; your build's --help decides"
        )


def _load_mode(case: Case) -> None:
    """--mlock, --no-mmap and --direct-io, in builds that have --load-mode in their place."""
    rule = known().load_mode
    old = [
        each
        for each in case.live()
        if canonical(each.name) in rule.names and not case.target.table.live(each.name)
    ]
    if not old or not case.target.table.live(rule.instead):
        return
    names = {canonical(each.name) for each in old}
    if names & {"--direct-io", "-dio"}:
        mode = "dio"
    elif "--mlock" in names:
        mode = "mlock" if "--no-mmap" in names else "mmap+mlock"
    else:
        mode = "none" if "--no-mmap" in names else "auto"
    for option in old:
        option.removed = True
    kept = old[0]
    if mode != "auto" and not case.named(rule.instead):
        kept.removed, kept.name, kept.values = False, rule.instead, [mode]
    for option in old:
        case.report(
            "removed-flag",
            "error",
            option,
            f"{option.written} is gone: how a model is read is one choice now",
            "leave it out" if mode == "auto" else f"{rule.instead} {mode}",
            mended=True,
        )


def _variable_as_key(case: Case, option: Option) -> None:
    """A variable's name as the key of a preset."""
    table = case.target.table
    if table.live_variable(option.name):
        return
    setting = known().of_variable(option.name)
    if setting is not None:
        _resolve(case, option, setting)
    elif table.complete:
        _unknown(case, option)


def _variable(case: Case, entry: EnvEntry) -> None:
    table = case.target.table
    setting = known().of_variable(entry.name)
    flag = table.of_variable(entry.name)
    if table.live_variable(entry.name):
        return
    if setting is None:
        _unknown_variable(case, entry)
        return
    names = names_for(case, setting)
    spelling = table.first_live_variable(setting.env)
    general = table.first_live(setting.names)
    how = "aborts the server" if flag is not None else "is silently ignored"
    severity = "error" if flag is not None else "silent"
    remedy, mended = "leave it out", True
    if not names:
        entry.removed = True
        how += f": {setting.gone}"
    elif spelling and general in names:
        entry.name = spelling
        remedy = spelling
        _extra_flags(case, [name for name in names if name != general], entry)
    elif case.takes_options:
        entry.removed = True
        _extra_flags(case, names, entry)
        remedy = " and ".join(f"{name} {entry.value}" for name in names)
    else:
        remedy, mended = f"give it as {names[0]}, which has no variable", False
    age = "newer" if setting.env and entry.written == setting.env[0] else "older"
    case.written_for = case.written_for or age
    case.report(
        "removed-variable" if not names else "renamed-variable",
        "error" if severity == "error" else "silent",
        entry,
        f"{entry.written} ({setting.what}) {how}",
        remedy,
        mended=mended,
    )


def _extra_flags(case: Case, names: list[str], entry: EnvEntry) -> None:
    if case.takes_options:
        for name in names:
            case.add(name, [entry.value])


def _unknown_variable(case: Case, entry: EnvEntry) -> None:
    table = case.target.table
    if table.live_variable(entry.name.replace("LLAMA_ARG_NO_", _VARIABLE)):
        return  # the opposite of a switch
    near = table.near_variable(entry.name)
    if near:
        message = f"{entry.name} is not known to this build and ignored; {near} is near it"
        remedy = f"write {near}"
    elif table.complete:
        message, remedy = f"{entry.name} is not known to this build and ignored", "leave it out"
    else:
        return
    case.report("unknown-variable", "silent", entry, message, remedy)
