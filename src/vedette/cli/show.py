"""`vedette show`: what a GGUF is, before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from vedette.cli.console import print_json, print_table
from vedette.models import tuned
from vedette.models.context_limit import ContextLimit, any_stored, recall
from vedette.models.fingerprint import file_sha256
from vedette.models.gguf_facts import Facts, read_facts
from vedette.models.locate import Weights, locate
from vedette.models.memory import MemoryEstimate, estimate_memory
from vedette.models.registry import registry
from vedette.models.units import human_bytes, human_count


def show(name: str, *, context: int = 4096, kv_type: str = "f16", json: bool = False) -> int:
    """Explain a GGUF: architecture, quantisation, tokenizer, chat template, memory.

    Reads the file's header only.

    Parameters
    ----------
    name
        A model's name or the path of a GGUF file.
    context
        Tokens of context for the memory estimate.
    kv_type
        What the KV cache is kept in: f16, q8_0, q4_0 and others.
    json
        One JSON object, for machines.
    """
    weights = locate(name)
    facts = read_facts(weights.path)
    estimate = estimate_memory(facts, context, kv_type)
    if json:
        print_json(_as_json(weights, facts, estimate, context, kv_type))
        return 0
    lines = [*_lines(weights, facts), *_memory_lines(facts, estimate, context, kv_type)]
    print_table(("what", "is"), [(label, _printable(text)) for label, text in lines])
    return 0


def _printable(text: str) -> str:
    """A file may say anything of itself; what would move the cursor becomes a space."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _lines(weights: Weights, facts: Facts) -> Iterator[tuple[str, str]]:
    yield "file", f"{weights.path} ({human_bytes(facts.file_bytes)}, GGUF {facts.gguf_version})"
    if weights.sha256:
        yield "sha256", weights.sha256
    yield "name", facts.name or "not stated"
    yield "licence", _licence(weights, facts) or "not stated"
    yield "architecture", _architecture(facts)
    yield "parameters", f"{human_count(facts.n_parameters)} ({facts.n_parameters})"
    yield "quantisation", facts.file_type or "not stated"
    for share in facts.quantisation:
        yield (
            f"  {share.type}",
            (
                f"{share.n_tensors} tensors, {human_count(share.n_values)} values, "
                f"{human_bytes(share.size_bytes)}"
            ),
        )
    yield "context", f"{facts.context_tokens or 'unknown'} tokens by its label"
    yield "useful context", _useful(_limit(weights))
    yield "tuned copy", _tuned(_tuning(weights))
    yield "rope", _rope(facts)
    yield "tokenizer", _tokenizer(facts)
    yield "chat template", facts.chat_format or "none"
    if facts.split:
        yield "split", f"file {facts.split[0]} of {facts.split[1]}: all numbers are of this one"


def _limit(weights: Weights) -> ContextLimit | None:
    """What `vedette context` found; a file's hash is only computed where that can be."""
    if not any_stored():
        return None
    return recall(weights.sha256 or file_sha256(weights.path))


def _tuning(weights: Weights) -> tuned.Tuning | None:
    """What `vedette tune` found here; as for `_limit`, no file is hashed for nothing."""
    if not tuned.any_stored():
        return None
    return tuned.find(weights.sha256 or file_sha256(weights.path))


def _tuned(found: tuned.Tuning | None) -> str:
    if found is None:
        return "not measured here: `vedette tune` does that"
    if found.copy is None:
        return f"none: no other packing is better here, measured {found.date}"
    return (
        f"{found.copy.type}, {human_bytes(found.copy.size_bytes)}, made {found.date}; "
        f"used unless --no-tune is given"
    )


def _useful(limit: ContextLimit | None) -> str:
    if limit is None:
        return "not measured: `vedette context` does that"
    more = " or more" if limit.limit_tokens == limit.measured_tokens else ""
    return (
        f"{limit.limit_tokens} tokens{more}, measured {limit.date} up to {limit.measured_tokens} "
        f"with {limit.n_questions} questions a length"
    )


def _licence(weights: Weights, facts: Facts) -> str | None:
    """What the file says; the official Qwen files say nothing, the registry does."""
    known = registry().get(weights.name)
    return facts.licence or (known.licence if known else None)


def _architecture(facts: Facts) -> str:
    parts = [facts.architecture, f"{facts.n_layers} layers", f"width {facts.embedding_length}"]
    if any(facts.heads):
        parts.append(f"{_range(facts.heads)} heads, {_range(facts.kv_heads)} for keys and values")
    if facts.experts:
        parts.append(f"{facts.experts} experts, {facts.experts_used} used")
    return ", ".join(parts)


def _range(counts: tuple[int, ...]) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return str(low) if low == high else f"{low} to {high}"


def _rope(facts: Facts) -> str:
    rope = facts.rope
    if rope.freq_base is None and rope.scaling is None:
        return "not stated"
    text = f"base {rope.freq_base:g}" if rope.freq_base is not None else "default base"
    if rope.scaling and rope.scaling != "none":
        factor = f" x{rope.scaling_factor:g}" if rope.scaling_factor is not None else ""
        text += f", {rope.scaling}{factor}"
        if rope.original_context_tokens:
            text += f" over {rope.original_context_tokens} tokens"
    return text


def _tokenizer(facts: Facts) -> str:
    tokenizer = facts.tokenizer
    kind = "/".join(part for part in (tokenizer.model, tokenizer.pre) if part) or "not stated"
    return f"{kind}, {tokenizer.vocab_tokens} tokens"


def _memory_lines(
    facts: Facts, estimate: MemoryEstimate, context: int, kv_type: str
) -> Iterator[tuple[str, str]]:
    window = f" of {facts.sliding_window_tokens} tokens" if facts.sliding_window_tokens else ""
    yield "memory kind", f"{facts.memory_kind}{window} (from: {facts.memory_decided_from})"
    state = f", state {human_bytes(estimate.state_bytes)}" if estimate.state_bytes else ""
    yield (
        f"memory at {context} tokens",
        (
            f"about {human_bytes(estimate.total_bytes)}: "
            f"weights {human_bytes(estimate.weights_bytes)}, "
            f"KV cache in {kv_type} {human_bytes(estimate.cache_bytes)}{state}; "
            "an estimate without compute buffers"
        ),
    )
    if facts.context_tokens and context > facts.context_tokens:
        yield "note", f"{context} tokens are more than the {facts.context_tokens} of its label"


def _as_json(
    weights: Weights, facts: Facts, estimate: MemoryEstimate, context: int, kv_type: str
) -> dict[str, object]:
    left_out = {
        "path",
        "licence",
        "layers",
        "memory_kind",
        "memory_decided_from",
        "sliding_window_tokens",
    }
    return {
        "path": str(weights.path),
        "sha256": weights.sha256,
        "licence": _licence(weights, facts),
        "useful_context": asdict(limit) if (limit := _limit(weights)) else None,
        "tuning": asdict(tuning) if (tuning := _tuning(weights)) else None,
        **{key: value for key, value in asdict(facts).items() if key not in left_out},
        "memory": {
            "kind": facts.memory_kind,
            "decided_from": facts.memory_decided_from,
            "sliding_window_tokens": facts.sliding_window_tokens,
            "context_tokens": context,
            "kv_type": kv_type,
            "is_estimate": True,
            **asdict(estimate),
            "total_bytes": estimate.total_bytes,
        },
    }
