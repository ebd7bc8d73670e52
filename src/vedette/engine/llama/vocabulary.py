"""The model's vocabulary as llguidance wants it."""

from __future__ import annotations

import ctypes

import llama_cpp
from llguidance import LLTokenizer

from .model import Model

# llguidance's mark for a token that no text may spell.
_SPECIAL = b"\xff"


def constraint_tokenizer(model: Model) -> tuple[LLTokenizer, list[bytes]]:
    """A tokenizer over all tokens of the model, which must outlive it: it calls llama.cpp.

    With it the bytes of every token that a text may be made of, and b"" for the others.

    Takes about a second for a large vocabulary. llguidance has a function for this too, but that
    one calls deprecated parts of the binding.
    """
    tokens = [model.piece(token, special=True) for token in range(model.n_vocab)]
    written = list(tokens)
    for token, piece in enumerate(tokens):
        attributes = int(llama_cpp.llama_vocab_get_attr(model.vocab, token))
        bracketed = piece.startswith(b"<") and piece.endswith(b">")
        if attributes & llama_cpp.LLAMA_TOKEN_ATTR_CONTROL or (
            attributes & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED and bracketed
        ):
            tokens[token], written[token] = _SPECIAL + piece, b""
    tokenize = ctypes.cast(llama_cpp.llama_cpp._lib.llama_tokenize, ctypes.c_void_p)
    tokenizer: LLTokenizer = LLTokenizer.from_llamacpp(  # type: ignore[attr-defined]
        tokens=tokens,
        vocab_ptr=model.vocab,
        tokenize_fptr=tokenize.value,
        eos_token=list(model.eog_tokens),
        slices=None,
    )
    return tokenizer, written
