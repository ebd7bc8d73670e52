"""What the headers of target and draft say: vocabularies that differ, memory, recurrent states."""

from __future__ import annotations

from pathlib import Path

import psutil

from vedette.errors import FileError, InputError, ModelCorrupt
from vedette.models.gguf_facts import Facts
from vedette.models.memory import estimate_memory

from .case import Case
from .draft_files import MODEL_NAMES, draft_path, facts_of, header_with_tokens, target_path
from .vocabulary import vocabulary_problem

_CONTEXT = ("-c", "--ctx-size")
_SLOTS = ("-np", "--parallel")
_GPU_LAYERS = ("-ngl", "--gpu-layers", "--n-gpu-layers")
_GIB = 1 << 30


def check_files(case: Case) -> None:
    """Where the files are on this machine; a command without speculation is left alone."""
    if not case.types:
        return
    target, draft = _facts(case, target_path(case)), _facts(case, draft_path(case))
    if target is not None:
        _head(case, target)
        _state(case, target)
    if target is not None and draft is not None:
        _vocabularies(case, target, draft)
    if target is not None:
        _memory(case, target, draft)


def _facts(case: Case, path: Path | None) -> Facts | None:
    if path is None:
        return None
    try:
        return facts_of(path)
    except (FileError, ModelCorrupt) as error:
        case.report("bad-file", "error", None, error.message, error.hint or "fetch it again")
        return None


def _vocabularies(case: Case, target: Facts, draft: Facts) -> None:
    kinds = [each for each in case.types if each.startswith("draft-")]
    problem = next(
        (found for kind in kinds if (found := vocabulary_problem(kind, target, draft))), None
    )
    if problem:
        option = next(iter(case.of_setting("model")), None)
        case.report(
            "vocabulary",
            "silent",
            option,
            f"{draft.path.name} cannot draft for {target.path.name}: {problem}; the server "
            "serves without guesses, or stops",
            "take a draft of the same family, or --spec-type ngram-mod, which needs none",
        )


def _head(case: Case, target: Facts) -> None:
    """MTP without a file of its own needs a head in the model."""
    if "draft-mtp" not in case.types or case.has_draft:
        return
    metadata = header_with_tokens(target.path).metadata
    if not metadata.get(f"{target.architecture}.nextn_predict_layers"):
        case.report(
            "no-mtp-head",
            "error",
            next(iter(case.named(*MODEL_NAMES)), None),
            f"{target.path.name} has no MTP head, and no draft file with one is named",
            "a file of the model that kept its MTP layers, or another --spec-type",
        )


def _state(case: Case, target: Facts) -> None:
    if target.memory_kind not in ("hybrid", "recurrent"):
        return
    option = next(iter(case.named(*MODEL_NAMES)), None)
    case.report(
        "recurrent-state",
        "warning",
        option,
        f"{target.path.name} keeps a recurrent state ({target.memory_decided_from}): a rejected "
        "guess must be rolled back, which builds before March 2026 refused and later ones pay "
        "for in time and memory",
        "use a build with native rollback (llama.cpp #28120), few guesses, and measure",
    )


def _memory(case: Case, target: Facts, draft: Facts | None) -> None:
    """Weights and caches of both against the free memory of this machine."""
    layers = case.value(_GPU_LAYERS, "LLAMA_ARG_N_GPU_LAYERS")
    if layers not in (None, "0"):
        return  # some of it goes to a GPU, of which nothing is known here
    context = _count(case.value(_CONTEXT, "LLAMA_ARG_CTX_SIZE")) or target.context_tokens
    if not context:
        return
    slots = _count(case.value(_SLOTS, "LLAMA_ARG_N_PARALLEL")) or 1
    needed = 0
    try:
        for facts, kv_type in (
            (target, case.value(("-ctk", "--cache-type-k"), "LLAMA_ARG_CACHE_TYPE_K")),
            (draft, case.setting_value("type_k")),
        ):
            if facts is not None:
                needed += estimate_memory(
                    facts, context, kv_type or "f16", n_sequences=slots
                ).total_bytes
    except InputError:
        return  # a cache type that none has; its value is a finding already
    free = psutil.virtual_memory().available
    if needed > free:
        parts = "model, draft and their caches" if draft else "the model and its cache"
        case.report(
            "memory",
            "warning",
            next(iter(case.named(*MODEL_NAMES)), None),
            f"{parts} need {needed / _GIB:.1f} GiB for {context} tokens; {free / _GIB:.1f} GiB "
            "are free here (nothing is counted as on a GPU)",
            "a smaller -c, a smaller draft, or none",
        )


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() and int(text) > 0 else None
