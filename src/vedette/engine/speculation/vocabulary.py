"""Whether a draft model writes the same tokens as the model that it guesses for."""

from __future__ import annotations

from vedette.engine.llama.model import Model
from vedette.errors import InputError

MOST_PADDING = 128
"""Vocabularies may differ by so many unused entries at the end, as padded ones do."""
FIRST_COMPARED = 5
"""Entries before this one are control tokens, whose spelling may differ."""


def check_same_vocabulary(model: Model, draft: Model) -> None:
    """Raise `InputError` unless every token means the same to both.

    The rules are llama.cpp's (common/speculative.cpp): the same use of the token at the
    beginning, sizes at most `MOST_PADDING` apart, the same bytes for each token.
    """
    hint = "take a smaller model of the same family, or leave the draft out"
    name = f"{draft.path.name} cannot guess for {model.path.name}"
    if model.adds_bos != draft.adds_bos or model.special_text("eos") != draft.special_text("eos"):
        raise InputError(f"{name}: their texts begin or end with different tokens", hint=hint)
    if abs(model.n_vocab - draft.n_vocab) > MOST_PADDING:
        raise InputError(
            f"{name}: they have {draft.n_vocab:,} and {model.n_vocab:,} tokens", hint=hint
        )
    for token in range(FIRST_COMPARED, min(model.n_vocab, draft.n_vocab)):
        own, other = model.piece(token, special=True), draft.piece(token, special=True)
        if own != other:
            raise InputError(
                f"{name}: token {token} is {_shown(other)} in one and {_shown(own)} in the other",
                hint=hint,
            )


def _shown(piece: bytes) -> str:
    return repr(piece.decode("utf-8", "backslashreplace"))
