"""What stands beside speculation in a command and keeps it from paying, or from working."""

from __future__ import annotations

from .case import Case
from .options import Option
from .settings import known

_PROJECTOR = ("--mmproj", "--mmproj-url")
_PROJECTOR_VARIABLES = ("LLAMA_ARG_MMPROJ", "LLAMA_ARG_MMPROJ_URL")
_LORA = ("--lora", "--lora-scaled")
_PARALLEL = ("-np", "--parallel")
_MANY_SLOTS = 4
_FULL_TYPES = ("f32", "f16", "bf16")
_NOT_ONLY_DRAFT = frozenset(("sampling", "synth_len", "synth_rates"))


def check_company(case: Case) -> None:
    """Warnings about a command that speculates; settings of speculation where nothing does."""
    if not case.types and not case.command.partial:
        _nothing_drafts(case)
        return
    _projector(case)
    _slots(case)
    if any(each.startswith("draft-") for each in case.types):
        _adapter(case)
        _draft_cache(case)


def _projector(case: Case) -> None:
    named = [*case.named(*_PROJECTOR)]
    set_for_it = [each for each in case.command.env if each.name in _PROJECTOR_VARIABLES]
    if named or set_for_it:
        case.report(
            "projector",
            "warning",
            named[0] if named else set_for_it[0],
            "images with speculation: refused by builds before 2026, MTP aborted the server in "
            "some of 2026 (llama.cpp #23398), and acceptance after an image was near 0 before "
            "#28715 of 2026-09-10",
            "use a build after that, and measure with images",
        )


def _slots(case: Case) -> None:
    text = case.value(_PARALLEL, "LLAMA_ARG_N_PARALLEL")
    if text is None or not text.isdigit() or int(text) < _MANY_SLOTS:
        return
    case.report(
        "many-slots",
        "warning",
        _last(case.named(*_PARALLEL)),
        f"{text} slots: the batch of several requests leaves no idle compute for guesses, and "
        "the benefit of speculation is usually gone at 4",
        "measure with as many requests as you expect, or use fewer slots",
    )


def _adapter(case: Case) -> None:
    options = case.named(*_LORA)
    if options:
        case.report(
            "adapter",
            "warning",
            options[0],
            "the adapter changes the model but not its draft: output stays right, and fewer "
            "guesses are accepted",
            "measure with the adapter; a draft tuned alike would help",
        )


def _draft_cache(case: Case) -> None:
    for key in ("type_k", "type_v"):
        value = case.setting_value(key)
        if value and value.lower() not in _FULL_TYPES:
            case.report(
                "draft-cache",
                "warning",
                _last(case.of_setting(key)),
                f"{known().of_key(key).what} is {value}: builds of 2026 accepted next to nothing "
                "from a quantised draft cache (llama.cpp #23398)",
                "f16; a draft's cache is small",
            )


def _nothing_drafts(case: Case) -> None:
    """Settings of speculation, and no speculation."""
    if case.reading.opaque or not case.types_known or case.switched_off:
        return
    settings = [(each, known().of_name(each.name)) for each in case.live()]
    idle = [each for each, setting in settings if setting and setting.key not in _NOT_ONLY_DRAFT]
    if idle and not case.has_draft:
        names = ", ".join(dict.fromkeys(each.name for each in idle))
        case.report(
            "no-speculation",
            "silent",
            idle[0],
            f"{names}: without effect, since no draft model and no --spec-type is given",
            "name a draft model or a --spec-type, or leave it out",
        )


def _last(options: list[Option]) -> Option | None:
    return options[-1] if options else None
