"""Token literals: found in the vocabulary, and made so that no two of them overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from llguidance import LLTokenizer

from vedette.errors import InputError

from .ast import Alternatives, Grammar, Item, Repeat, Sequence, TokenRef

OTHERS = TokenRef(-1, negated=True)
"""Any token that no literal of the grammar names and that does not end the answer."""


def named_tokens(
    grammar: Grammar, token_id: Callable[[str], int], tokenizer: LLTokenizer
) -> dict[int | str, int]:
    """The id for each token literal of the grammar, by what stands in it.

    Raises `InputError` for a text that is not one token, an id outside the vocabulary, and a
    token that ends the answer: it can be no part of one, in llama.cpp neither.
    """
    found: dict[int | str, int] = {}
    for item in grammar.items():
        if not isinstance(item, TokenRef) or item.token in found:
            continue
        token = _find(item, token_id)
        if not 0 <= token < tokenizer.vocab_size:
            raise InputError(
                f"the grammar, {item.place}: there is no token {token} in this vocabulary",
                hint=f"ids go up to {tokenizer.vocab_size - 1}",
            )
        if token in tokenizer.eos_tokens and not item.negated:
            raise InputError(
                f"the grammar, {item.place}: token {token} ends the answer and cannot stand in it",
                hint="leave it out: an answer may end where the grammar does",
            )
        found[item.token] = token
    return found


def _find(item: TokenRef, token_id: Callable[[str], int]) -> int:
    if isinstance(item.token, int):
        return item.token
    try:
        return token_id(item.token)
    except InputError as error:
        raise InputError(f"the grammar, {item.place}: {error.message}", hint=error.hint) from error


def resolved(grammar: Grammar, named: dict[int | str, int], ending: set[int]) -> Grammar:
    """The grammar with ids only, and each negation as the named tokens it allows, or `OTHERS`.

    llguidance follows one token literal where several fit, so they are made not to overlap.
    """
    ids = sorted(set(named.values()) - ending)

    def item(old: Item) -> Item:
        match old:
            case TokenRef(token, negated, place):
                number = named[token]
                if not negated:
                    return TokenRef(number, place=place)
                allowed = [TokenRef(other, place=place) for other in ids if other != number]
                options = (replace(OTHERS, place=place), *allowed)
                return Alternatives(tuple(Sequence((option,)) for option in options))
            case Repeat(inner, low, high):
                return Repeat(item(inner), low, high)
            case Alternatives():
                return body(old)
            case _:
                return old

    def body(old: Alternatives) -> Alternatives:
        return Alternatives(tuple(Sequence(tuple(map(item, o.items))) for o in old.options))

    return Grammar({name: replace(r, body=body(r.body)) for name, r in grammar.rules.items()})
