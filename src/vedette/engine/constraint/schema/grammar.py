"""The grammar of a schema over bytes: what it accepts, without any model."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from vedette.engine.constraint.spelling import SPELLING
from vedette.errors import ConstraintFailed, SchemaError


class _Bytes:
    """A vocabulary with a token for each byte, and one for the end."""

    eos_token_id = 256
    bos_token_id = None
    tokens = [bytes([byte]) for byte in range(256)] + [b"\xff<end>"]
    special_token_ids = [256]  # noqa: RUF012

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@cache
def byte_tokenizer() -> LLTokenizer:
    """A tokenizer whose token ids are byte values."""
    return LLTokenizer(TokenizerWrapper(_Bytes()), slices=[])


class ByteGrammar:
    """A compiled grammar schema.

    Raises `SchemaError` if the engine cannot compile it, `RecursionError` if it is nested too
    deeply to be written out.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        try:
            source = orjson.dumps(schema).decode()
        except orjson.JSONEncodeError as error:
            raise RecursionError(str(error)) from error
        grammar = str(LLMatcher.grammar_from_json_schema(source, overrides=SPELLING))
        limits = LLParserLimits(verbose_errors=False)
        self._start = LLMatcher(byte_tokenizer(), grammar, log_level=0, limits=limits)
        if self._start.is_error():
            reason = " ".join(self._start.get_error().split())[:300]
            raise SchemaError(f"the grammar engine does not take the lowered schema: {reason}")

    def matcher(self) -> LLMatcher:
        """The engine's own matcher over bytes, at the start, for the caller to move."""
        return self._start.deep_copy()

    def accepts(self, text: str) -> bool:
        """Whether the grammar can write exactly this text.

        Raises `ConstraintFailed` if the engine ran into one of its limits.
        """
        try:
            raw = text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: no JSON text that can be sent
            return False
        matcher = self.matcher()
        taken = matcher.try_consume_tokens(list(raw))
        if matcher.is_error():
            reason = " ".join(matcher.get_error().split())[:200]
            raise ConstraintFailed(f"the constraint engine gave up: {reason}")
        return taken == len(raw) and matcher.is_accepting()
