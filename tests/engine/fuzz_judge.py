"""Is an answer one that the case allows? Asked of others than the engine that gave it.

Schemas: a validator. Choices: membership. Expressions: Python's `re` where it reads them alike.
GBNF: llama.cpp's own grammar, token by token. What is left, Lark above all: a fresh matcher over
bytes, which has no part in the engine's loop.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any, Literal

import jsonschema_rs
from gbnf_oracle import LlamaGrammar
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from vedette.engine.constraint.deep_stack import on_deep_stack
from vedette.engine.constraint.gbnf import parse_gbnf
from vedette.engine.constraint.gbnf.ast import TokenRef
from vedette.engine.llama.model import Model

Verdict = Literal["valid", "invalid", "unjudged"]

# What Rust's expressions and Python's read differently.
_OTHER_DIALECT = re.compile(r"\[[^\]]*\[|&&|--|~~|\|\||\(\?|\\[pPuUxczZA<>bBdDsSwW]|\[\^?\]|\{,")


class Judge:
    """Judges with the vocabulary of the model that answered."""

    def __init__(self, model: Path) -> None:
        self._model = Model(model)
        self._bytes = LLTokenizer("byte")

    def verdict(self, case: dict[str, Any], reply: dict[str, Any]) -> Verdict:
        """Whether the reply's text is one of the case's."""
        kind, source, text = case["kind"], case["source"], reply["text"]
        if kind == "json_schema":
            return _verdict(_fits(source, text))
        if kind == "choice":
            return _verdict(text in json.loads(source))
        if kind == "gbnf":
            return self._by_llama_cpp(source, reply["tokens"])
        if kind == "regex" and (expression := _python(source)) is not None:
            return _verdict(expression.fullmatch(text) is not None)
        return self._by_matcher(kind, source, text)

    def _by_llama_cpp(self, source: str, tokens: list[int]) -> Verdict:
        with LlamaGrammar(self._model, source) as grammar:
            if grammar.accepts(tuple(tokens)):
                return "valid"
        # A token literal can meet half a character; what follows then is nobody's definition.
        by_token = any(isinstance(item, TokenRef) for item in parse_gbnf(source).items())
        return "unjudged" if by_token and not all(map(self._is_text, tokens)) else "invalid"

    def _is_text(self, token: int) -> bool:
        try:
            self._model.piece(token, special=True).decode()
        except UnicodeDecodeError:
            return False
        return True

    def _by_matcher(self, kind: str, source: str, text: str) -> Verdict:
        make = LLMatcher.grammar_from_regex if kind == "regex" else LLMatcher.grammar_from_lark
        limits = LLParserLimits(verbose_errors=False)
        matcher = on_deep_stack(
            lambda: LLMatcher(self._bytes, make(source), log_level=0, limits=limits)
        )
        if matcher.is_error():  # it speaks of tokens that bytes have none of
            return "unjudged"
        tokens = self._bytes.tokenize_bytes(text.encode())
        taken = matcher.try_consume_tokens(tokens)
        return _verdict(taken == len(tokens) and matcher.is_accepting())


def _verdict(is_valid: bool) -> Verdict:
    return "valid" if is_valid else "invalid"


def _fits(source: str, text: str) -> bool:
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except ValueError:
        return False
    schema = json.loads(source)
    return jsonschema_rs.validator_for(schema, validate_formats=True, offline=True).is_valid(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _python(source: str) -> re.Pattern[str] | None:
    if _OTHER_DIALECT.search(source):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(source)
    except (re.error, Warning, RecursionError, OverflowError):
        return None
