"""Models as headers tell them, without files: sizes of known ones, so that plans are realistic."""

from __future__ import annotations

from vedette.models.layers import LayerMemory
from vedette.spec.candidates import Question
from vedette.spec.hardware import Cpu, describe_gpu
from vedette.spec.machine import Machine, Measured
from vedette.spec.memory import Setup
from vedette.spec.model_file import LayerWeights, ModelFile

OUTPUT_BYTES = 900_000_000
LAPTOP_CPU = Cpu(name="laptop", bytes_per_s=57e9, cores=8)


def model(
    name: str = "27b",
    *,
    billions: float = 27.0,
    layers: int = 64,
    gb: float = 16.5,
    output_bytes: int = OUTPUT_BYTES,
    head_bytes: int = 0,
    tokenizer: str = "gpt2",
    vocab_tokens: int = 248_320,
    state_bytes: int = 0,
    experts: tuple[int, int] = (0, 0),
    tied: bool = False,
    window_tokens: int | None = None,
) -> ModelFile:
    """Layers that are alike; with `window_tokens` every second one has a window."""
    each = int((gb * 1e9 - 2 * output_bytes) / layers)
    n_experts, used = experts
    weights = LayerWeights(
        dense_bytes=each if not n_experts else each // 10,
        expert_bytes=0 if not n_experts else each - each // 10,
    )
    memory = tuple(
        LayerMemory(
            1024, 1024, windowed=bool(window_tokens) and index % 2 == 0, state_bytes=state_bytes
        )
        for index in range(layers)
    )
    head = (LayerWeights(dense_bytes=head_bytes, expert_bytes=0),) if head_bytes else ()
    return ModelFile(
        name=name,
        where=f"/models/{name}.gguf",
        is_local=True,
        architecture="qwen3",
        n_parameters=int(billions * 1e9),
        context_tokens=262_144,
        embedding_length=5120,
        feed_forward_length=17_408,
        n_heads=40,
        vocab_tokens=vocab_tokens,
        tokenizer=(tokenizer, "qwen2"),
        layers=(weights,) * layers,
        memory=memory,
        window_tokens=window_tokens,
        embedding_bytes=output_bytes,
        output_bytes=0 if tied else output_bytes,
        tied=tied,
        head_layers=head,
        head_memory=memory[0] if head else None,
        other_bytes=0,
        n_experts=n_experts,
        n_experts_used=used,
        tensors=(),
    )


def draft(name: str = "0.8b", **changes: object) -> ModelFile:
    """A small model of the same family."""
    sizes = {"billions": 0.8, "layers": 24, "gb": 0.55, "output_bytes": 120_000_000, **changes}
    return model(name, **sizes)  # type: ignore[arg-type]


def question(
    target: ModelFile,
    guesser: ModelFile | None = None,
    *,
    gpu: str | None = "RTX 4090",
    vram: str | None = None,
    cpu: Cpu = LAPTOP_CPU,
    memory_bytes: int | None = None,
    measured: Measured | None = None,
    setup: Setup | None = None,
    acceptance: float | None = None,
    copied: float = 0.0,
    longest: int = 16,
    projector_bytes: int = 0,
) -> Question:
    """What the command line would ask, of a machine described."""
    return Question(
        target=target,
        draft=guesser,
        projector_bytes=projector_bytes,
        machine=Machine(
            gpu=describe_gpu(gpu, memory=vram) if gpu else None,
            cpu=cpu,
            memory_bytes=memory_bytes,
            measured=measured,
        ),
        setup=setup or Setup(context_tokens=4096),
        draft_key_type="f16",
        draft_value_type="f16",
        acceptance=acceptance,
        copied=copied,
        longest=longest,
    )
