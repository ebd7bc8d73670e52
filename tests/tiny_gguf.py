"""Tiny GGUF models with random weights, one for each kind of llama.cpp memory.

They know no language, but everything else is real: a byte-level BPE tokenizer with ChatML, a few
hundred tokens, and logits that differ from token to token and depend on the whole sequence.
Engine tests run on them in milliseconds.

    full       qwen2    attention over everything
    sliding    gemma3   layer 0 sees a window of SLIDING_WINDOW tokens, layer 1 everything
    recurrent  mamba    one state per sequence, nothing per token
    hybrid     lfm2     short convolutions (a state) around one attention layer

Control and padding tokens have an all-zero row in the output matrix: their logit is exactly 0
where the best of the others is near 12, so that greedy text never ends by itself and a test is
free to choose its length; a constraint can still force them. Raw bytes are tokens like any other,
so unconstrained text is often no valid UTF-8: as harsh on a streaming decoder as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from gguf import GGUFWriter, TokenType
from numpy.typing import NDArray

TinyKind: TypeAlias = Literal["full", "sliding", "recurrent", "hybrid"]
Tensors: TypeAlias = Iterator[tuple[str, NDArray[np.float32]]]
Change: TypeAlias = Callable[[str, NDArray[np.float32]], NDArray[np.float32]]

TINY_KINDS: tuple[TinyKind, ...] = get_args(TinyKind)
CONTEXT_TOKENS = 4096
SLIDING_WINDOW = 64
END_OF_TURN = "<|im_end|>"
CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", END_OF_TURN)

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# Every line is one pre-token of the qwen2 splitter, so that each becomes one token.
WORDS = (
    *('{"', '":', '":"', '","', '"}', '":{"', '":["', '":[', '["', '"]', "[]", "{}", '"},{"', "},"),
    *("],", '",', '":"-', "}]", ' "', " {", " [", " :", "...", " -", "\n\n", "  ", "    ", "}\n"),
    *("true", "false", "null", "level", "service", "message", "name", "value", "time", "label"),
    *("INFO", "WARN", "ERROR", "DEBUG", " INFO", " WARN", " ERROR", "error", "warning", "status"),
    *("positive", "negative", "neutral", "yes", "no", "other", "system", "user", "assistant"),
    *(" the", " a", " an", " of", " to", " in", " is", " and", " for", " on", " was", " not"),
    *("the", "in", "er", "re", "ing", "ed", "ion", "est", "at", "st", "ly", "connect", "failed"),
    *(" level", " service", " message", " request", " server", " failed", " connection", " error"),
    *("é", "ü", "ß", "日", "志", "服务", "错误", "中文", " —", " €"),
)

N_EMBD, N_HEAD, N_HEAD_KV, N_FF = 64, 4, 2, 128
N_EMBD_KV = N_EMBD // N_HEAD * N_HEAD_KV
N_STATE, N_INNER, N_CONV, DT_RANK = 8, 2 * N_EMBD, 4, 4
ROPE_BASE = 10_000.0
RMS_EPSILON = 1e-6


def build_tiny(
    kind: TinyKind,
    path: Path,
    *,
    seed: int = 0,
    n_vocab: int | None = None,
    template: str = CHATML,
    own_tokens: tuple[str, ...] = (),
    change: Change | None = None,
) -> Path:
    """Write the model to `path` and return it; the same arguments give the same bytes.

    `own_tokens` are texts that are a token each, like `<tool_call>` in Qwen's. `n_vocab` pads the
    vocabulary with unused tokens up to that size; by default there are none. `change` says what
    becomes of each tensor before it is written.
    Raises ValueError for an unknown kind or a vocabulary smaller than the tokenizer's.
    """
    if kind not in TINY_KINDS:
        raise ValueError(f"no tiny model of kind {kind!r}; there are {', '.join(TINY_KINDS)}")
    weights = _Weights(seed)
    arch = {"full": "qwen2", "sliding": "gemma3", "recurrent": "mamba", "hybrid": "lfm2"}[kind]
    writer = GGUFWriter(path, arch)
    writer.add_name(f"tiny-{kind}")
    is_live = _add_tokenizer(writer, n_vocab, template, own_tokens)
    _add_hyperparameters(writer, kind, len(is_live))

    output = weights.matrix(len(is_live), N_EMBD, gain=4.0)
    output[~is_live] = 0.0
    tensors = [
        ("token_embd.weight", weights.embedding(kind, len(is_live))),
        ("output.weight", output),
    ]
    # lfm2 files name the last norm after the embedding
    last_norm = "token_embd_norm" if kind == "hybrid" else "output_norm"
    tensors.append((f"{last_norm}.weight", weights.norm(N_EMBD)))
    tensors += _layers(kind, weights)
    for name, tensor in tensors:
        writer.add_tensor(name, tensor if change is None else change(name, tensor))

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class _Weights:
    """Random tensors in the shapes that numpy gives them: (rows out, columns in)."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def matrix(self, n_out: int, n_in: int, gain: float = 1.0) -> NDArray[np.float32]:
        """Keeps the size of its input, times `gain`."""
        return self._normal(n_out, n_in) * np.float32(gain / n_in**0.5)

    def norm(self, n: int) -> NDArray[np.float32]:
        return 1.0 + self._normal(n) * np.float32(0.1)

    def vector(self, n: int, scale: float = 0.1) -> NDArray[np.float32]:
        return self._normal(n) * np.float32(scale)

    def embedding(self, kind: TinyKind, n_vocab: int) -> NDArray[np.float32]:
        # gemma3 multiplies embeddings by sqrt(n_embd)
        scale = N_EMBD**-0.5 if kind == "sliding" else 1.0
        return self._normal(n_vocab, N_EMBD) * np.float32(scale)

    def _normal(self, *shape: int) -> NDArray[np.float32]:
        return self._random.standard_normal(shape, dtype=np.float32)


def _add_hyperparameters(writer: GGUFWriter, kind: TinyKind, n_vocab: int) -> None:
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(N_EMBD)
    writer.add_vocab_size(n_vocab)
    writer.add_layer_norm_rms_eps(RMS_EPSILON)
    writer.add_block_count(3 if kind == "hybrid" else 2)
    if kind == "recurrent":
        writer.add_feed_forward_length(0)
        writer.add_head_count(0)
        writer.add_ssm_conv_kernel(N_CONV)
        writer.add_ssm_inner_size(N_INNER)
        writer.add_ssm_state_size(N_STATE)
        writer.add_ssm_time_step_rank(DT_RANK)
        return
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_rope_freq_base(ROPE_BASE)
    if kind == "hybrid":
        writer.add_head_count_kv([0, N_HEAD_KV, 0])  # a layer without heads is a convolution
        writer.add_shortconv_l_cache(N_CONV)
        return
    writer.add_head_count_kv(N_HEAD_KV)
    if kind == "sliding":
        writer.add_sliding_window(SLIDING_WINDOW)
        writer.add_sliding_window_pattern([True, False])


def _layers(kind: TinyKind, weights: _Weights) -> Tensors:
    if kind == "recurrent":
        for layer in range(2):
            yield from _mamba(f"blk.{layer}", weights)
    elif kind == "hybrid":
        for layer, mixer in enumerate((_convolution, _attention, _convolution)):
            yield from mixer(f"blk.{layer}", weights)
            yield from _feed_forward(f"blk.{layer}", weights)
        yield from _head_norms("blk.1", weights)
    else:
        for layer in range(2):
            yield from _attention(f"blk.{layer}", weights)
            yield from _feed_forward(f"blk.{layer}", weights)
            if kind == "sliding":
                yield from _head_norms(f"blk.{layer}", weights)
                yield f"blk.{layer}.post_attention_norm.weight", weights.norm(N_EMBD)
                yield f"blk.{layer}.post_ffw_norm.weight", weights.norm(N_EMBD)
            else:
                yield f"blk.{layer}.attn_q.bias", weights.vector(N_EMBD)
                yield f"blk.{layer}.attn_k.bias", weights.vector(N_EMBD_KV)
                yield f"blk.{layer}.attn_v.bias", weights.vector(N_EMBD_KV)


def _attention(block: str, weights: _Weights) -> Tensors:
    yield f"{block}.attn_norm.weight", weights.norm(N_EMBD)
    # gain: sharp attention, so that a lost or misplaced token shows in the logits
    yield f"{block}.attn_q.weight", weights.matrix(N_EMBD, N_EMBD, gain=1.5)
    yield f"{block}.attn_k.weight", weights.matrix(N_EMBD_KV, N_EMBD, gain=1.5)
    yield f"{block}.attn_v.weight", weights.matrix(N_EMBD_KV, N_EMBD)
    yield f"{block}.attn_output.weight", weights.matrix(N_EMBD, N_EMBD, gain=2.0)


def _head_norms(block: str, weights: _Weights) -> Tensors:
    yield f"{block}.attn_q_norm.weight", weights.norm(N_EMBD // N_HEAD)
    yield f"{block}.attn_k_norm.weight", weights.norm(N_EMBD // N_HEAD)


def _feed_forward(block: str, weights: _Weights) -> Tensors:
    yield f"{block}.ffn_norm.weight", weights.norm(N_EMBD)
    yield f"{block}.ffn_gate.weight", weights.matrix(N_FF, N_EMBD)
    yield f"{block}.ffn_up.weight", weights.matrix(N_FF, N_EMBD)
    yield f"{block}.ffn_down.weight", weights.matrix(N_EMBD, N_FF, gain=2.0)


def _convolution(block: str, weights: _Weights) -> Tensors:
    yield f"{block}.attn_norm.weight", weights.norm(N_EMBD)
    yield f"{block}.shortconv.conv.weight", weights.matrix(N_EMBD, N_CONV)
    yield f"{block}.shortconv.in_proj.weight", weights.matrix(3 * N_EMBD, N_EMBD)
    yield f"{block}.shortconv.out_proj.weight", weights.matrix(N_EMBD, N_EMBD)


def _mamba(block: str, weights: _Weights) -> Tensors:
    yield f"{block}.attn_norm.weight", weights.norm(N_EMBD)
    yield f"{block}.ssm_in.weight", weights.matrix(2 * N_INNER, N_EMBD)
    yield f"{block}.ssm_conv1d.weight", weights.matrix(N_INNER, N_CONV)
    yield f"{block}.ssm_conv1d.bias", weights.vector(N_INNER)
    yield f"{block}.ssm_x.weight", weights.matrix(DT_RANK + 2 * N_STATE, N_INNER, gain=2.0)
    yield f"{block}.ssm_dt.weight", weights.matrix(N_INNER, DT_RANK)
    # softplus(-3) is a time step of 0.05: the state remembers tens of tokens
    yield f"{block}.ssm_dt.bias", weights.vector(N_INNER) - np.float32(3.0)
    decay = -np.arange(1, N_STATE + 1, dtype=np.float32)
    yield f"{block}.ssm_a", np.tile(decay, (N_INNER, 1))
    yield f"{block}.ssm_d", weights.norm(N_INNER)
    yield f"{block}.ssm_out.weight", weights.matrix(N_EMBD, N_INNER, gain=4.0)


def _add_tokenizer(
    writer: GGUFWriter, n_vocab: int | None, template: str, own_tokens: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Add it, and return which tokens are ordinary text: (n_vocab,)."""
    merges = _merges()
    tokens = [*_byte_letters(), *(left + right for left, right in merges)]
    types = [TokenType.NORMAL] * len(tokens)
    first_control = len(tokens)
    tokens += CONTROL_TOKENS
    types += [TokenType.CONTROL] * len(CONTROL_TOKENS)
    tokens += own_tokens
    types += [TokenType.USER_DEFINED] * len(own_tokens)
    n_pad = 0 if n_vocab is None else n_vocab - len(tokens)
    if n_pad < 0:
        raise ValueError(f"n_vocab is {n_vocab}, but the tokenizer has {len(tokens)} tokens")
    tokens += [f"[PAD{i}]" for i in range(n_pad)]
    types += [TokenType.UNUSED] * n_pad

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    # without these keys llama.cpp falls back to GPT-2's own token numbers
    writer.add_bos_token_id(first_control)
    writer.add_pad_token_id(first_control)
    writer.add_eos_token_id(tokens.index(END_OF_TURN))
    writer.add_add_bos_token(False)
    writer.add_chat_template(template)
    return np.array([type_ == TokenType.NORMAL for type_ in types])


def _byte_letters() -> list[str]:
    """The printable letter that stands for each byte in a byte-level BPE vocabulary."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    stand_ins = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(stand_ins)) for byte in range(256)]


def _merges() -> list[tuple[str, str]]:
    """Merges in order of rank that turn each of WORDS into one token.

    A word is first cut by the merges there are, then the rest is joined from the left. As later
    merges rank lower, none of them takes an earlier word apart.
    """
    letters = _byte_letters()
    ranks: dict[tuple[str, str], int] = {}
    for word in WORDS:
        pieces = _cut([letters[byte] for byte in word.encode()], ranks)
        while len(pieces) > 1:
            ranks[pieces[0], pieces[1]] = len(ranks)
            pieces = _cut(pieces, ranks)
    return list(ranks)


def _cut(pieces: list[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    while True:
        pairs = [pair for pair in pairwise(pieces) if pair in ranks]
        if not pairs:
            return pieces
        left, right = min(pairs, key=ranks.__getitem__)
        at = next(i for i in range(len(pieces) - 1) if pieces[i : i + 2] == [left, right])
        pieces = [*pieces[:at], left + right, *pieces[at + 2 :]]
