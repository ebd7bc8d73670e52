"""Holds finished texts to their constraints, without a model: what others have written."""

from __future__ import annotations

from functools import lru_cache

from llguidance import LLMatcher, LLTokenizer

from vedette.errors import CapabilityMissing, ConstraintFailed
from vedette.types import Constraint

from .compiler import compiled_grammar, grammar_of, limits
from .grounded import reads_input
from .json_schema import Fault, NarrowedSchema, fault_of_text, narrowed_schema
from .schema.validator import validator

_CACHED = 256


class Checker:
    """Says what is wrong with a text under a constraint. Safe to use from any thread.

    The grammar is followed byte by byte, so that no model's vocabulary is needed. Raises
    `SchemaError` (`InputError` for other kinds) for a constraint that is none.
    """

    def __init__(self) -> None:
        self._tokenizer = LLTokenizer("byte")
        self._limits = limits()
        self._grammar = lru_cache(maxsize=_CACHED)(self._compiled)
        self._schema = lru_cache(maxsize=_CACHED)(_narrowed)

    def prepare(self, constraint: Constraint) -> None:
        """Find out whether the constraint is one."""
        if constraint.kind == "json_schema":
            self._schema(constraint)
        else:
            self._grammar(constraint)

    def schema(self, constraint: Constraint) -> NarrowedSchema:
        """The plain form of a JSON Schema for its input."""
        return self._schema(constraint)

    def fault_of(self, constraint: Constraint, text: str) -> Fault | None:
        """What is wrong with the text; None if it is an answer."""
        if constraint.kind == "json_schema":
            return self._fault_under_schema(constraint, text)
        matcher = self._grammar(constraint).deep_copy()
        tokens = self._tokenizer.tokenize_bytes(text.encode())
        n_taken = matcher.try_consume_tokens(tokens)
        if matcher.is_error():
            raise ConstraintFailed(f"the constraint engine gave up: {matcher.get_error()[:200]}")
        if n_taken < len(tokens):
            good = text.encode()[:n_taken].decode(errors="ignore")
            return Fault(f"it leaves the {constraint.kind} after {good!r}")
        return (
            None
            if matcher.is_accepting()
            else Fault(f"it ends too early for the {constraint.kind}")
        )

    def _fault_under_schema(self, constraint: Constraint, text: str) -> Fault | None:
        narrowed = self._schema(constraint)
        try:
            fault = fault_of_text(narrowed.analysis.validator, text)
            if fault is None and reads_input(narrowed.analysis.grammar_schema):
                # What the input must bear out is no keyword that a validator knows.
                fault = fault_of_text(validator(narrowed.lowered, {}), text)
        except ConstraintFailed as error:
            return Fault(error.message)
        return fault

    def _compiled(self, constraint: Constraint) -> LLMatcher:
        grammar = grammar_of(constraint, _no_token, self._tokenizer)
        return compiled_grammar(grammar, constraint.kind, self._tokenizer, self._limits)


def _narrowed(constraint: Constraint) -> NarrowedSchema:
    return narrowed_schema(constraint.source, constraint.input, constraint.options)


def _no_token(text: str) -> int:
    raise CapabilityMissing(
        f"the grammar names the token {text!r}, which only the in-process engine knows",
        hint="write it as text, or use --backend local",
    )
