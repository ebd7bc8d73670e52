"""Which kinds of speculation are on: --spec-type, its old values, and a draft nobody asked for."""

from __future__ import annotations

from .case import SPEC_TYPE, SPEC_TYPE_VARIABLE, Case
from .draft_files import draft_type
from .options import Option
from .settings import known
from .words import EnvEntry

_MTP_SWITCHES = ("-mtp", "--multi-token-prediction", "--mtp")
_NEEDS_MODEL = ("draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark")
_DEFAULT_PRESET = "ngram-mod"  # what --spec-default turns on


def check_types(case: Case) -> None:
    """Mend the values of --spec-type and find out which types are in effect."""
    _mtp_switch(case)
    options = case.named(SPEC_TYPE)
    entries = [each for each in case.command.env if each.name == SPEC_TYPE_VARIABLE]
    if options and options[-1].values:
        _option_values(case, options[-1])
        for entry in entries:
            _overridden(case, entry)
    elif entries:
        _variable_values(case, entries[-1])
    if case.named("--spec-default"):
        case.types.append(_DEFAULT_PRESET)
    if not case.command.partial:
        _draft_without_type(case)
        _type_without_draft(case)


def _mtp_switch(case: Case) -> None:
    """`-mtp` of ik_llama.cpp, in a build where MTP is a type."""
    for option in [each for each in case.live() if each.name in _MTP_SWITCHES]:
        if case.target.table.live(option.name):
            case.types.append("draft-mtp")
            continue
        spelled = next((each for each in ("draft-mtp", "mtp") if each in case.target.types), None)
        if spelled is None:
            continue  # a build without MTP: an unknown flag
        others = case.named(SPEC_TYPE)
        if others and others[-1].values and not others[-1].dynamic:
            others[-1].values = [",".join([*others[-1].values[0].split(","), spelled])]
            option.removed = True
        else:
            option.name, option.values = SPEC_TYPE, [spelled]
        case.written_for = "older"
        case.report(
            "renamed-flag",
            "error",
            option,
            f"{option.written} is a switch of ik_llama.cpp; llama.cpp does not know it",
            f"--spec-type {spelled}",
            mended=True,
        )


def _option_values(case: Case, option: Option) -> None:
    if option.dynamic:
        case.types_known = False
        return
    wanted, kept = _mended_values(case, option.values[0], option)
    case.types += wanted
    if kept == option.values[0]:
        return
    if kept:
        option.values = [kept]
    elif "draft-mtp" in wanted and case.target.has_mtp_switch:
        option.name, option.values = "-mtp", []
    else:
        option.removed = True


def _variable_values(case: Case, entry: EnvEntry) -> None:
    if entry.dynamic:
        case.types_known = False
        return
    before = len(case.findings)
    wanted, kept = _mended_values(case, entry.value, entry)
    case.types += wanted
    if len(case.findings) == before:
        return
    if kept and entry.value_span is not None:
        entry.value = kept
    elif case.takes_options or not kept:
        entry.removed = True
        if kept:
            case.add(SPEC_TYPE, [kept])


def _overridden(case: Case, entry: EnvEntry) -> None:
    """The server reads a variable even where the flag counts, and stops at a bad value."""
    wrong = [each for each in entry.value.split(",") if each.strip() not in case.target.types]
    if case.target.types and wrong and not entry.dynamic:
        entry.removed = True
        case.report(
            "unknown-type",
            "error",
            entry,
            f"{entry.name}: this build has no type {wrong[0]!r}, and --spec-type counts instead",
            "leave it out",
            mended=True,
        )


def _mended_values(case: Case, text: str, at: Option | EnvEntry) -> tuple[list[str], str]:
    """The types under today's names, and the value for the target ("" if it needs none)."""
    wanted: list[str] = []
    kept: list[str] = []
    values = [each.strip() for each in text.split(",")]
    if ",".join(values) != text:
        case.report(
            "bad-value",
            "error",
            at,
            f"--spec-type {text!r}: blanks count as part of a type",
            f"--spec-type {','.join(values)}",
            mended=True,
        )
    for value in values:
        name, _, parameters = value.partition(":")  # ik_llama.cpp: mtp:n_max=3
        present = known().present_type(name)
        choices = case.target.types
        if present is None and name not in choices:
            case.types_known = False
            near = ", ".join(choices) or ", ".join(known().types)
            case.report(
                "unknown-type",
                "error",
                at,
                f"--spec-type has no value {value!r}",
                f"choose from {near}",
            )
            kept.append(value)
            continue
        if (present or name) != "none":
            wanted.append(present or name)
        kept += _kept_value(case, value, name, present or name, at)
        if parameters and choices:
            case.report(
                "unknown-type",
                "error",
                at,
                f"{value!r}: only ik_llama.cpp takes parameters within --spec-type",
                "give them as flags, such as --spec-draft-n-max",
            )
    case.switched_off = not wanted and text.strip() == "none"
    if len(kept) > 1 and not case.target.lists_types:
        case.report(
            "one-type",
            "error",
            at,
            f"this build takes one type, not {','.join(kept)!r}",
            f"--spec-type {kept[0]}; or a build since 2026-05-12",
            mended=True,
        )
        kept = kept[:1]
    return wanted, ",".join(kept)


def _kept_value(
    case: Case, value: str, name: str, present: str, at: Option | EnvEntry
) -> list[str]:
    """One value as the target spells it, with a finding if that is another way."""
    choices = case.target.types
    if name in choices or (not choices and not _foreign(case, name)):
        return [value]
    if name in known().never:
        case.report(
            "no-such-type",
            "error",
            at,
            f"--spec-type {name} was proposed and never merged",
            f"--spec-type {present}",
            mended=present in choices,
        )
        return [present]
    if present not in choices:
        case.written_for = "newer"
    elif name in known().older_types:
        case.written_for = "older"
    spelled = next(
        (each for each in (present, *known().types.get(present, ())) if each in choices), None
    )
    if spelled:
        case.report(
            "renamed-type",
            "error",
            at,
            f"--spec-type {name} is called {spelled} in this build",
            f"--spec-type {spelled}",
            mended=True,
        )
        return [spelled]
    if present == "draft-simple":
        case.report(
            "newer-type",
            "error",
            at,
            f"this build has no --spec-type {name}: a draft model is on once it is named",
            "leave it out",
            mended=True,
        )
        return []
    if present == "draft-mtp" and case.target.has_mtp_switch:
        case.report(
            "renamed-type", "error", at, "MTP is a switch in ik_llama.cpp", "-mtp", mended=True
        )
        return []
    case.report(
        "unknown-type", "error", at, f"this build has no --spec-type {name}", "use a newer build"
    )
    return [value]


def _foreign(case: Case, name: str) -> bool:
    """A build that does not list its types (ik_llama.cpp) has none of mainline's `draft-*`."""
    return case.target.has_mtp_switch and name.startswith("draft-")


def _draft_without_type(case: Case) -> None:
    if not case.has_draft:
        return
    drafts = [each for each in case.types if each.startswith("draft-")]
    if not case.target.draft_needs_type:
        if not drafts:
            case.types.append("draft-simple")
        return
    if drafts or not case.types_known:
        return
    option = next(iter(case.of_setting("model") + case.of_setting("hf")), None)
    if case.switched_off:
        case.report(
            "draft-ignored",
            "silent",
            option,
            "the draft model is loaded and not used: --spec-type none switches speculation off",
            "leave the draft model out, or name a type",
        )
        return
    kind, why = draft_type(case)
    message = "the draft model is loaded and silently ignored: no --spec-type asks for it"
    if case.reading.opaque:
        names = ", ".join(each.value for each in case.reading.opaque)
        case.report(
            "draft-ignored",
            "silent",
            option,
            f"{message} (unless {names} does)",
            f"add --spec-type {kind} ({why})",
        )
        return
    added = _add_type(case, kind, option)
    case.types.append(kind)
    case.written_for = case.written_for or "older"
    case.report(
        "draft-ignored",
        "silent",
        option,
        message,
        f"--spec-type {kind} ({why})",
        mended=added,
    )


def _add_type(case: Case, kind: str, option: Option | None) -> bool:
    """Ask for one type more, wherever types are asked for; False if there is no place for it."""
    given = case.named(SPEC_TYPE)
    entries = [
        each for each in case.command.env if each.name == SPEC_TYPE_VARIABLE and not each.removed
    ]
    if given and given[-1].values:
        given[-1].values = [f"{given[-1].values[0]},{kind}"]
    elif entries and entries[-1].value_span is not None:
        entries[-1].value += f",{kind}"
    elif entries and case.takes_options:
        entries[-1].removed = True
        case.add(SPEC_TYPE, [f"{entries[-1].value},{kind}"], option)
    elif case.named("--spec-default"):
        case.add(SPEC_TYPE, [f"{_DEFAULT_PRESET},{kind}"], case.named("--spec-default")[-1])
    elif case.takes_options:
        case.add(SPEC_TYPE, [kind], option)
    elif case.command.env_layout is not None:
        case.extra_edits.append(case.command.env_layout.add(SPEC_TYPE_VARIABLE, kind))
        case.extra_variables.append((SPEC_TYPE_VARIABLE, kind))
    else:
        return False
    return True


def _type_without_draft(case: Case) -> None:
    """A type that needs a draft model, and none is named."""
    lacking = [each for each in case.types if each in _NEEDS_MODEL]
    if not lacking or case.has_draft or case.reading.opaque:
        return
    option = next(iter(case.named(SPEC_TYPE)), None)
    case.report(
        "draft-missing",
        "silent",
        option,
        f"{lacking[0]} needs a draft model and none is named; the server says so in its log and "
        "serves without guesses",
        "name it with --spec-draft-model (-md) or --spec-draft-hf",
    )
