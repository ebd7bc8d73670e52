"""llama-cpp-python's grammars: what its own call would let a model write under a schema."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import llama_cpp
from llama_cpp.llama_grammar import json_schema_to_gbnf

from vedette.engine.constraint.schema.values import spelled
from vedette.engine.llama.model import Model
from vedette.errors import SchemaError
from vedette.types import Json

from .constrained_match import Accepts
from .constrained_suite import SchemaCase

MAX_REASON_CHARACTERS = 120
STDERR = 2


class BindingGrammar:
    """The grammar that the binding makes of a schema, over a model's vocabulary.

    Raises `SchemaError` for a schema of which it makes none; its chat completion then takes any
    JSON, without a word.
    """

    def __init__(self, model: Model, source: str) -> None:
        self._model = model
        self._sampler = None
        try:
            grammar: str = json_schema_to_gbnf(source)
        except Exception as error:  # of every kind; its own call catches them all too
            reason = f"{type(error).__name__}: {error}"[:MAX_REASON_CHARACTERS]
            raise SchemaError(f"llama-cpp-python makes no grammar of it: {reason}") from error
        with _complaint() as complaint:
            self._sampler = llama_cpp.llama_sampler_init_grammar(
                model.vocab, grammar.encode(), b"root"
            )
        if not self._sampler:
            reason = complaint[0][:MAX_REASON_CHARACTERS] if complaint else "no reason given"
            raise SchemaError(f"llama.cpp does not take llama-cpp-python's grammar: {reason}")
        self._token = llama_cpp.llama_token_data()
        self._array = llama_cpp.llama_token_data_array(
            data=ctypes.pointer(self._token), size=1, selected=-1, sorted=False
        )

    def __del__(self) -> None:
        if self._sampler:
            llama_cpp.llama_sampler_free(self._sampler)

    def accepts(self, text: str) -> bool:
        """Whether a model could write exactly this text and end."""
        llama_cpp.llama_sampler_reset(self._sampler)
        for token in self._model.tokenize(text):
            if not self._allows(token):
                return False
            llama_cpp.llama_sampler_accept(self._sampler, token)
        return any(map(self._allows, self._model.eog_tokens))

    def _allows(self, token: int) -> bool:
        self._token.id, self._token.logit = token, 0.0
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(self._array))
        return not math.isinf(self._token.logit)


@contextmanager
def _complaint() -> Iterator[list[str]]:
    """The lines that llama.cpp writes to stderr meanwhile, and not its dump of the grammar there.

    It writes to the descriptor itself, past Python.
    """
    lines: list[str] = []
    sys.stderr.flush()
    before = os.dup(STDERR)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), STDERR)
            try:
                yield lines
            finally:
                os.dup2(before, STDERR)
                file.seek(0)
                lines += file.read().decode(errors="replace").splitlines()
    finally:
        os.close(before)


def taken_by_binding(model: Model, case: SchemaCase) -> Accepts:
    """How the binding judges instances of a schema, their members in its grammar's order."""
    grammar = BindingGrammar(model, case.source)
    order = _order(case.schema)
    return lambda value: grammar.accepts(spelled(_arranged(value, order)))


def _order(schema: Json) -> list[str]:
    """The names that a schema declares, as they are met in it; in an object required ones first."""
    if isinstance(schema, list):
        return [name for part in schema for name in _order(part)]
    if not isinstance(schema, dict):
        return []
    properties, required = schema.get("properties"), schema.get("required")
    own = list(properties) if isinstance(properties, dict) else []
    first = required if isinstance(required, list) else []
    own.sort(key=lambda name: name not in first)
    return [*own, *(name for part in schema.values() for name in _order(part))]


def _arranged(value: Json, order: list[str]) -> Json:
    if isinstance(value, list):
        return [_arranged(part, order) for part in value]
    if not isinstance(value, dict):
        return value
    rank = {name: place for place, name in reversed([*enumerate(order)])}
    names = sorted(value, key=lambda name: rank.get(name, len(order)))
    return {name: _arranged(value[name], order) for name in names}
