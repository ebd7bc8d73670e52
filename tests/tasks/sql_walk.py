"""Walks through the grammar of a database, byte by byte."""

from __future__ import annotations

import random

import numpy as np
from llguidance import LLMatcher
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

from vedette.engine.constraint.schema.grammar import byte_tokenizer
from vedette.tasks.sql.grammar import grammar_of
from vedette.tasks.sql.schema import Schema


def matcher_of(schema: Schema, question: str | None = None) -> LLMatcher:
    grammar = str(LLMatcher.grammar_from_lark(grammar_of(schema, question)))
    matcher = LLMatcher(byte_tokenizer(), grammar, log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def accepts(start: LLMatcher, statement: str) -> bool:
    matcher, raw = start.deep_copy(), list(statement.encode())
    return matcher.try_consume_tokens(raw) == len(raw) and matcher.is_accepting()


def walk(start: LLMatcher, rng: random.Random, most: int = 400) -> str | None:
    """A statement taken byte by byte at random; None if it had no end within `most` bytes."""
    matcher, mask, written = start.deep_copy(), allocate_token_bitmask(1, 257), bytearray()
    for _ in range(most):
        if matcher.is_accepting() and rng.random() < 0.3:
            return written.decode()
        fill_next_token_bitmask(matcher, mask, 0)
        bits = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:256]
        allowed = np.flatnonzero(bits)
        if not allowed.size:
            return written.decode() if matcher.is_accepting() else None
        # Plain letters and quotes, where they may stand, so that literals come to an end.
        tame = [int(b) for b in allowed if b < 128]
        byte = rng.choice(tame or [int(b) for b in allowed])
        if ord("'") in tame and rng.random() < 0.3:
            byte = ord("'")
        assert matcher.consume_token(byte)
        written.append(byte)
    return None
