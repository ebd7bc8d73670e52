"""From a `Constraint` to matchers on the model's vocabulary."""

from __future__ import annotations

from collections import OrderedDict

import orjson
from llguidance import LLMatcher, LLParserLimits

from vedette.engine.llama.model import Model
from vedette.engine.llama.vocabulary import constraint_tokenizer
from vedette.errors import InputError, LabelError, SchemaError
from vedette.types import Constraint

from .json_schema import grammar_of_schema
from .matcher import Matcher
from .verbatim import lark_literal

_CACHED = 256


class Compiler:
    """Compiles each constraint once and hands out forks of it.

    Raises `SchemaError` (or `InputError` for the other kinds) for what cannot be compiled;
    nothing is compiled leniently.
    """

    def __init__(self, model: Model) -> None:
        self._tokenizer = constraint_tokenizer(model)
        self._limits = LLParserLimits(verbose_errors=False)
        self._compiled: OrderedDict[Constraint, LLMatcher] = OrderedDict()

    def matcher(self, constraint: Constraint) -> Matcher:
        """A fresh matcher at the grammar's start."""
        compiled = self._compiled.get(constraint)
        if compiled is None:
            compiled = self._compile(constraint)
            if constraint.input:  # one item's grammar: nobody will ask for it again
                return Matcher(compiled)
            self._compiled[constraint] = compiled
            if len(self._compiled) > _CACHED:
                self._compiled.popitem(last=False)
        return Matcher(compiled.deep_copy())

    def _compile(self, constraint: Constraint) -> LLMatcher:
        grammar = self._grammar(constraint)
        compiled = LLMatcher(self._tokenizer, grammar, log_level=0, limits=self._limits)
        if compiled.is_error():
            reason = " ".join(compiled.get_error().split())[:300]
            if constraint.kind == "json_schema":
                raise SchemaError(f"this schema cannot be enforced: {reason}")
            raise InputError(f"this {constraint.kind} cannot be enforced: {reason}")
        return compiled

    def _grammar(self, constraint: Constraint) -> str:
        match constraint.kind:
            case "json_schema":
                return grammar_of_schema(constraint.source, constraint.input)
            case "choice":
                return _grammar_of_choices(constraint.source)
            case "regex":
                return str(LLMatcher.grammar_from_regex(constraint.source))
            case "lark":
                return str(LLMatcher.grammar_from_lark(constraint.source))


def _grammar_of_choices(source: str) -> str:
    try:
        choices = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise LabelError(f"the choices are not a JSON array: {error.msg}") from error
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise LabelError("the choices must be a JSON array of strings")
    if not choices or len(set(choices)) != len(choices) or "" in choices:
        raise LabelError("choices must be distinct, non-empty texts, at least one")
    alternatives = " | ".join(lark_literal(choice) for choice in choices)
    return str(LLMatcher.grammar_from_lark(f"start: {alternatives}"))
