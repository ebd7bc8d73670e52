"""The tiny models are what they claim to be, and llama.cpp's memory treats each kind as we assume.

The second half pins down behaviour of llama.cpp that the engine is built on; a new release that
breaks one of these assumptions breaks here first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import llama_cpp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tiny_gguf import CONTROL_TOKENS, SLIDING_WINDOW, TINY_KINDS, WORDS, TinyKind, build_tiny

Logits: TypeAlias = NDArray[np.float32]

# Kernels differ with the shape of a batch: up to 0.04 was seen, with logits of deviation 4.
TOLERANCE = 0.06
N_SEQUENCES = 8


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens of one sequence in a batch, from position `start` on."""

    sequence: int
    start: int
    tokens: Sequence[int]


class Context:
    """The least of llama.cpp that shows what a model does: one thread, 1,024 unified cells."""

    def __init__(self, path: Path, *, swa_full: bool = True) -> None:
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(
            str(path).encode(), llama_cpp.llama_model_default_params()
        )
        assert self.model, f"llama.cpp refuses {path}"
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = 1024
        params.n_ubatch = 64
        params.n_seq_max = N_SEQUENCES
        params.n_threads = params.n_threads_batch = 1
        params.kv_unified = True
        params.swa_full = swa_full
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        assert self.context, f"no context for {path}"
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.n_vocab = llama_cpp.llama_vocab_n_tokens(self.vocab)

    def close(self) -> None:
        llama_cpp.llama_free(self.context)
        llama_cpp.llama_model_free(self.model)

    def try_decode(self, *parts: Part) -> int:
        batch = llama_cpp.llama_batch_init(sum(len(part.tokens) for part in parts), 0, 1)
        for part in parts:
            for offset, token in enumerate(part.tokens):
                at = batch.n_tokens
                batch.token[at] = token
                batch.pos[at] = part.start + offset
                batch.n_seq_id[at] = 1
                batch.seq_id[at][0] = part.sequence
                batch.logits[at] = 1
                batch.n_tokens += 1
        status = int(llama_cpp.llama_decode(self.context, batch))
        llama_cpp.llama_batch_free(batch)
        return status

    def decode(self, *parts: Part) -> list[Logits]:
        """Logits of every part: (n_tokens, n_vocab) each."""
        assert self.try_decode(*parts) == 0
        n_tokens = sum(len(part.tokens) for part in parts)
        shape = (self.n_vocab,)
        rows = [
            np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, i), shape).copy()
            for i in range(n_tokens)
        ]
        ends = np.cumsum([len(part.tokens) for part in parts])
        return np.split(np.stack(rows), ends[:-1])

    def fresh(self, tokens: Sequence[int], last: int) -> Logits:
        """Logits of the last tokens when all are decoded at once in an empty memory."""
        llama_cpp.llama_memory_clear(self.memory, True)
        (logits,) = self.decode(Part(0, 0, tokens))
        llama_cpp.llama_memory_clear(self.memory, True)
        return logits[-last:]

    def greedy(self, prompt: Sequence[int], n_tokens: int) -> list[int]:
        logits = self.decode(Part(0, 0, prompt))[0][-1]
        answer: list[int] = []
        while len(answer) < n_tokens:
            answer.append(int(logits.argmax()))
            logits = self.decode(Part(0, len(prompt) + len(answer) - 1, answer[-1:]))[0][-1]
        return answer

    def share(self, source: int, target: int, end: int = -1) -> None:
        llama_cpp.llama_memory_seq_cp(self.memory, source, target, -1, end)

    def drop(self, sequence: int, start: int) -> bool:
        return bool(llama_cpp.llama_memory_seq_rm(self.memory, sequence, start, -1))

    def span(self, sequence: int) -> tuple[int, int]:
        """First and last position that the memory says it holds."""
        return (
            llama_cpp.llama_memory_seq_pos_min(self.memory, sequence),
            llama_cpp.llama_memory_seq_pos_max(self.memory, sequence),
        )

    def tokenize(self, text: str, *, parse_special: bool = False) -> list[int]:
        data = text.encode()
        buffer = (llama_cpp.llama_token * (len(data) + 1))()
        count = llama_cpp.llama_tokenize(
            self.vocab, data, len(data), buffer, len(buffer), False, parse_special
        )
        assert count >= 0
        return list(buffer[:count])

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        array = (llama_cpp.llama_token * max(1, len(tokens)))(*tokens)
        buffer = ctypes.create_string_buffer(1 + 32 * len(tokens))
        size = llama_cpp.llama_detokenize(
            self.vocab, array, len(tokens), buffer, len(buffer), False, True
        )
        assert size >= 0
        return bytes(buffer.raw[:size])


Open: TypeAlias = Callable[..., Context]


@pytest.fixture
def open_context() -> Iterator[Open]:
    contexts: list[Context] = []

    def open_(path: Path, *, swa_full: bool = True) -> Context:
        contexts.append(Context(path, swa_full=swa_full))
        return contexts[-1]

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def tokenizer(tiny_full: Path) -> Iterator[Context]:
    context = Context(tiny_full)
    yield context
    context.close()


def random_tokens(count: int, seed: int = 0) -> list[int]:
    # the first 400 tokens are bytes and merged text, no control tokens
    return [int(token) for token in np.random.default_rng(seed).integers(0, 400, count)]


def largest_difference(left: Logits, right: Logits) -> float:
    return float(np.abs(left - right).max())


PROMPT, ONE, OTHER = random_tokens(20, 1), random_tokens(5, 2), random_tokens(7, 3)


# What the builder promises


@pytest.mark.parametrize("kind", TINY_KINDS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], tmp_path: Path
) -> None:
    again = build_tiny(kind, tmp_path / "again.gguf").read_bytes()
    other = build_tiny(kind, tmp_path / "other.gguf", seed=1).read_bytes()
    assert tiny_models[kind].read_bytes() == again
    assert again != other


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tiny model of kind 'mixed'"):
        build_tiny("mixed", tmp_path / "x.gguf")  # type: ignore[arg-type]


def test_a_vocabulary_is_padded_but_never_cut(open_context: Open, tmp_path: Path) -> None:
    context = open_context(build_tiny("full", tmp_path / "padded.gguf", n_vocab=600))
    assert context.n_vocab == 600
    padding = context.fresh(PROMPT, 1)[0, -1]
    assert padding == 0.0
    with pytest.raises(ValueError, match="n_vocab is 300"):
        build_tiny("full", tmp_path / "cut.gguf", n_vocab=300)


@pytest.mark.parametrize("kind", TINY_KINDS)
def test_llama_cpp_sees_the_kind_of_memory(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], open_context: Open
) -> None:
    model = open_context(tiny_models[kind]).model
    assert llama_cpp.llama_model_is_recurrent(model) == (kind == "recurrent")
    assert llama_cpp.llama_model_is_hybrid(model) == (kind == "hybrid")
    window = SLIDING_WINDOW if kind == "sliding" else 0
    assert llama_cpp.llama_model_n_swa(model) == window


@settings(deadline=None)
@given(text=st.text())
def test_any_text_survives_the_tokenizer(tokenizer: Context, text: str) -> None:
    assert tokenizer.detokenize(tokenizer.tokenize(text)) == text.encode()


def test_each_listed_word_is_one_token(tokenizer: Context) -> None:
    assert [word for word in WORDS if len(tokenizer.tokenize(word)) != 1] == []


def test_control_tokens_are_tokens_only_when_asked_for(tokenizer: Context) -> None:
    for spelling in CONTROL_TOKENS:
        (token,) = tokenizer.tokenize(spelling, parse_special=True)
        assert llama_cpp.llama_vocab_is_control(tokenizer.vocab, token)
        assert token not in tokenizer.tokenize(spelling)
    end_of_turn = llama_cpp.llama_vocab_eos(tokenizer.vocab)
    assert tokenizer.tokenize("<|im_end|>", parse_special=True) == [end_of_turn]
    assert llama_cpp.llama_vocab_is_eog(tokenizer.vocab, end_of_turn)
    assert not llama_cpp.llama_vocab_get_add_bos(tokenizer.vocab)


def test_the_chat_template_is_chatml(tokenizer: Context) -> None:
    template = llama_cpp.llama_model_chat_template(tokenizer.model, None)
    assert template is not None
    assert b"<|im_start|>" in template


def test_logits_are_finite_and_set_tokens_apart(tiny_any: Path, open_context: Open) -> None:
    logits = open_context(tiny_any).fresh(random_tokens(100), 100)
    assert np.isfinite(logits).all()
    assert logits.std(axis=1).min() > 2.0
    assert logits.std(axis=1).max() < 8.0
    second, first = np.sort(logits, axis=1)[:, -2:].T
    assert np.mean(first - second > 0.05) > 0.9


def test_greedy_text_is_varied_and_never_ends_by_itself(tiny_any: Path, open_context: Open) -> None:
    context = open_context(tiny_any)
    answer = context.greedy(PROMPT, 100)
    assert len(set(answer)) > 20
    assert not any(llama_cpp.llama_vocab_is_control(context.vocab, token) for token in answer)


def test_logits_depend_on_tokens_far_back(tiny_any: Path, open_context: Open) -> None:
    context = open_context(tiny_any)
    changed = [(PROMPT[0] + 1) % 256, *PROMPT[1:]]
    difference = largest_difference(context.fresh(PROMPT, 1), context.fresh(changed, 1))
    assert difference > 2 * TOLERANCE


# What the engine assumes of llama.cpp's memory


def test_sequences_in_one_batch_do_not_see_each_other(tiny_any: Path, open_context: Open) -> None:
    context = open_context(tiny_any)
    parts = [Part(0, 0, PROMPT + ONE), Part(3, 0, PROMPT + OTHER), Part(7, 0, OTHER)]
    alone = [context.fresh(part.tokens, len(part.tokens)) for part in parts]
    for together, expected in zip(context.decode(*parts), alone, strict=True):
        assert largest_difference(together, expected) < TOLERANCE


def test_a_shared_whole_sequence_goes_on_as_a_fresh_prefill(
    tiny_any: Path, open_context: Open
) -> None:
    context = open_context(tiny_any)
    fresh_one = context.fresh(PROMPT + ONE, len(ONE))
    fresh_other = context.fresh(PROMPT + OTHER, len(OTHER))
    context.decode(Part(0, 0, PROMPT))
    for sequence in range(1, N_SEQUENCES):
        context.share(0, sequence)
    n = len(PROMPT)
    forks = context.decode(
        Part(0, n, ONE), *(Part(sequence, n, OTHER) for sequence in range(1, N_SEQUENCES))
    )
    assert largest_difference(forks[0], fresh_one) < TOLERANCE
    for fork in forks[1:]:
        assert largest_difference(fork, fresh_other) < TOLERANCE


@pytest.mark.parametrize("kind", ["full", "sliding"])
def test_attention_shares_a_prefix_and_drops_a_suffix(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], open_context: Open
) -> None:
    context = open_context(tiny_models[kind])
    expected = context.fresh(PROMPT + OTHER, len(OTHER))
    n = len(PROMPT)
    context.decode(Part(0, 0, PROMPT + ONE))
    context.share(0, 1, end=n)
    assert context.span(1) == (0, n - 1)
    assert context.drop(0, n)
    for logits in context.decode(Part(0, n, OTHER), Part(1, n, OTHER)):
        assert largest_difference(logits, expected) < TOLERANCE


@pytest.mark.parametrize("kind", ["recurrent", "hybrid"])
def test_a_state_refuses_to_drop_a_suffix_and_is_left_whole(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], open_context: Open
) -> None:
    context = open_context(tiny_models[kind])
    expected = context.fresh(PROMPT + ONE + OTHER, len(OTHER))
    context.decode(Part(0, 0, PROMPT + ONE))
    assert not context.drop(0, len(PROMPT))
    (logits,) = context.decode(Part(0, len(PROMPT + ONE), OTHER))
    assert largest_difference(logits, expected) < TOLERANCE
    assert context.drop(0, 0)
    assert context.span(0) == (-1, -1)


@pytest.mark.parametrize("kind", ["recurrent", "hybrid"])
def test_sharing_part_of_a_state_is_not_refused_but_shows_in_the_span(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], open_context: Open
) -> None:
    context = open_context(tiny_models[kind])
    context.decode(Part(0, 0, PROMPT + ONE))
    context.share(0, 1, end=len(PROMPT))
    # the state is the whole sequence's whatever part was asked for
    assert context.span(1)[0] == len(PROMPT + ONE) - 1


@pytest.mark.parametrize("kind", ["recurrent", "hybrid"])
def test_a_checkpoint_sequence_can_be_gone_back_to(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], open_context: Open
) -> None:
    context = open_context(tiny_models[kind])
    expected = context.fresh(PROMPT + OTHER, len(OTHER))
    context.decode(Part(0, 0, PROMPT))
    context.share(0, 1)
    context.decode(Part(0, len(PROMPT), ONE))
    assert context.drop(0, 0)
    context.share(1, 0)
    (logits,) = context.decode(Part(0, len(PROMPT), OTHER))
    assert largest_difference(logits, expected) < TOLERANCE
    assert context.span(1) == (len(PROMPT) - 1, len(PROMPT) - 1)


@pytest.mark.parametrize("lost", [0, 1])
def test_a_window_is_whole_from_its_first_position_plus_the_window(
    lost: int, tiny_sliding: Path, open_context: Open
) -> None:
    context = open_context(tiny_sliding, swa_full=False)
    tokens = random_tokens(1000)
    # 8 sequences' windows and a micro-batch: 576 tokens, in blocks of 256
    context.decode(Part(0, 0, tokens))
    first_kept = context.span(0)[0]
    assert first_kept > 0
    end = first_kept + SLIDING_WINDOW - 1 - lost
    assert context.drop(0, end)  # True in both cases: llama.cpp does not say that tokens are gone
    (logits,) = context.decode(Part(0, end, OTHER))
    difference = largest_difference(logits, context.fresh(tokens[:end] + OTHER, len(OTHER)))
    if lost:
        assert difference > 10 * TOLERANCE
    else:
        assert difference < TOLERANCE


@pytest.mark.parametrize("pinned", [False, True])
def test_a_full_size_window_cache_still_gives_away_cells_of_a_single_owner(
    pinned: bool, tiny_sliding: Path, open_context: Open
) -> None:
    context = open_context(tiny_sliding)
    context.decode(Part(0, 0, random_tokens(100)))
    context.decode(Part(1, 0, random_tokens(500)))
    if pinned:
        context.share(1, 2)
    context.drop(0, 0)
    context.decode(Part(3, 0, random_tokens(200)))
    assert (context.span(1)[0] == 0) == pinned


@pytest.mark.parametrize("kind", ["full", "sliding", "hybrid"])
def test_a_batch_without_room_changes_nothing(
    kind: TinyKind, tiny_models: dict[TinyKind, Path], open_context: Open
) -> None:
    context = open_context(tiny_models[kind])
    tokens = random_tokens(600)
    expected = context.fresh(tokens + ONE, len(ONE))
    context.decode(Part(0, 0, tokens))
    before = context.span(0)
    assert context.try_decode(Part(0, 600, ONE), Part(1, 0, tokens[:420])) == 1
    assert (context.span(0), context.span(1)) == (before, (-1, -1))
    (logits,) = context.decode(Part(0, 600, ONE))
    assert largest_difference(logits, expected) < TOLERANCE


@pytest.mark.parametrize("start", [-2, 2])
def test_a_position_that_does_not_follow_is_refused(
    start: int, tiny_any: Path, open_context: Open
) -> None:
    context = open_context(tiny_any)
    context.decode(Part(0, 0, PROMPT))
    before = context.span(0)
    assert context.try_decode(Part(0, len(PROMPT) + start, ONE)) == -1
    assert context.span(0) == before
