"""Defaults that changed without a word between the builds of the command and of the target."""

from __future__ import annotations

from .bundled import is_new_name
from .case import Case
from .check_names import names_for
from .settings import Setting, known

_MOD_N_MIN = "--spec-ngram-mod-n-min"
_MOD_N_MAX = "--spec-ngram-mod-n-max"
_DRAFTED_BY_MODEL = ("draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark")


def check_defaults(case: Case) -> None:
    """Tell of changed defaults, and with `keep_behaviour` write the old ones out."""
    is_clear = case.written_for == "newer" or (case.written_for and not _has_new_spelling(case))
    if is_clear and set(case.types) & set(_DRAFTED_BY_MODEL):
        for key in ("n_max", "p_min"):
            _default(case, known().of_key(key))
    _ngram_mod_lengths(case)
    _draft_lengths(case)


def _has_new_spelling(case: Case) -> bool:
    """Names or types of the present grammar: it was not written for old builds only."""
    written = [each for each in case.options if each.word is not None]
    return any(is_new_name(each.written) for each in written) or any(
        value.startswith("draft-") for each in written for value in each.written_values
    )


def _default(case: Case, setting: Setting) -> None:
    names = names_for(case, setting)
    now = case.target.default_of(setting)
    before = setting.default_before if case.written_for == "older" else setting.default_since
    if not names or now is None or case.named(names[0]) or case.env_of(setting):
        return
    if float(now) == float(before):
        return
    model = next(iter(case.of_setting("model") + case.of_setting("hf")), None)
    can_add = case.keep_behaviour and case.takes_options
    if can_add:
        case.add(names[0], [before], model)
    advice = f"{names[0]} {before} keeps what the command did"
    case.report(
        "changed-default",
        "warning",
        model,
        f"{setting.what}: the default was {before} in the builds that this command was written "
        f"for and is {now} in this one",
        advice if can_add else f"{advice} (--keep-behaviour writes it)",
        mended=can_add,
    )


def _ngram_mod_lengths(case: Case) -> None:
    """ngram-mod drops drafts shorter than n-min, so n-max below it means that none is left."""
    if "ngram-mod" not in case.types or not case.target.table.live(_MOD_N_MAX):
        return
    most = _whole(case, _MOD_N_MAX)
    least = _whole(case, _MOD_N_MIN)
    if most is None or least is None or most >= least:
        return
    options = case.named(_MOD_N_MAX)
    given = case.named(_MOD_N_MIN)
    mended = not given and any(each.name != each.written or not each.word for each in options)
    if mended:
        case.add(_MOD_N_MIN, ["0"], options[-1] if options else None)
    case.report(
        "min-over-max",
        "silent",
        options[-1] if options else None,
        f"{_MOD_N_MAX} {most} is below {_MOD_N_MIN} {least}"
        f"{'' if given else ' (the default)'}: every draft is too short to be used",
        f"{_MOD_N_MIN} {0 if not given else most}, or a larger {_MOD_N_MAX}",
        mended=mended,
    )


def _draft_lengths(case: Case) -> None:
    least, most = case.setting_value("n_min"), case.setting_value("n_max")
    named = case.of_setting("n_min")
    if not named or not least or not most or not (least + most).isdigit():
        return
    if {_MOD_N_MIN, _MOD_N_MAX} & {each.name for each in named + case.of_setting("n_max")}:
        return
    if int(least) > int(most):
        case.report(
            "min-over-max",
            "silent",
            named[-1],
            f"{named[-1].name} {least} is above the most tokens to draft, {most}: no draft is used",
            "give a smaller one",
        )


def _whole(case: Case, name: str) -> int | None:
    """A value that is given and known, else the default; None for what is neither."""
    options = case.named(name)
    if options:
        text = options[-1].values[0] if options[-1].values else ""
        return int(text) if text.isdigit() else None
    flag = case.target.table.live(name)
    return int(flag.default) if flag and flag.default and flag.default.isdigit() else None
