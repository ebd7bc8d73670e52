"""Whether a draft's vocabulary fits the target's, by the rules of llama.cpp's speculation."""

from __future__ import annotations

from vedette.models.gguf_facts import Facts
from vedette.models.gguf_header import Header

from .draft_files import TOKENS_KEY, header_with_tokens

_MOST_TOKENS_APART = 128
_FIRST_COMPARED_ID = 5
_NO_RULE = ("draft-dflash",)
_LARGER_IS_ENOUGH = ("draft-eagle3", "draft-mtp")


def vocabulary_problem(kind: str, target: Facts, draft: Facts) -> str | None:
    """Why the draft does not fit, in words; None if it does. Raises `FileError`, `ModelCorrupt`.

    The rules are those of common/speculative.cpp: the same kind of vocabulary, the same beginning
    and end where they are added, sizes at most 128 apart, the same text for each id from 5 on.
    """
    of_target, of_draft = target.tokenizer, draft.tokenizer
    if kind in _NO_RULE:
        return None
    if kind in _LARGER_IS_ENOUGH:
        if of_draft.vocab_tokens and of_draft.vocab_tokens < of_target.vocab_tokens:
            return (
                f"its vocabulary has {of_draft.vocab_tokens} tokens, the target's "
                f"{of_target.vocab_tokens}"
            )
        return None
    if of_target.model != of_draft.model:
        return f"vocabulary of the kind {of_draft.model} against {of_target.model}"
    headers = header_with_tokens(target.path), header_with_tokens(draft.path)
    apart = abs(of_target.vocab_tokens - of_draft.vocab_tokens)
    if apart > _MOST_TOKENS_APART:
        return (
            f"vocabularies of {of_target.vocab_tokens} and {of_draft.vocab_tokens} tokens, "
            f"more than {_MOST_TOKENS_APART} apart"
        )
    return _special_problem(target, draft, *headers) or _text_problem(*headers)


def _special_problem(target: Facts, draft: Facts, left: Header, right: Header) -> str | None:
    for what in ("bos", "eos"):
        key = f"tokenizer.ggml.add_{what}_token"
        adds = [header.metadata.get(key) for header in (left, right)]
        if None not in adds and adds[0] != adds[1]:
            return f"only one of them adds a {what.upper()} token"
        ids = [getattr(facts.tokenizer, f"{what}_id") for facts in (target, draft)]
        if adds[0] and None not in ids and ids[0] != ids[1]:
            return f"their {what.upper()} tokens are {ids[0]} and {ids[1]}"
    return None


def _text_problem(left: Header, right: Header) -> str | None:
    ours, theirs = (header.metadata.get(TOKENS_KEY) for header in (left, right))
    if not isinstance(ours, tuple) or not isinstance(theirs, tuple):
        return None
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if index >= _FIRST_COMPARED_ID and mine != other:
            return f"token {index} is {mine!r} in the target and {other!r} in the draft"
    return None
