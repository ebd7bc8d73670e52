"""From a `Constraint` to matchers on the model's vocabulary."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import orjson
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from vedette.engine.llama.model import Model
from vedette.engine.llama.vocabulary import constraint_tokenizer
from vedette.errors import InputError, LabelError, SchemaError
from vedette.types import Constraint

from .deep_stack import check_size, on_deep_stack
from .ending import Endings
from .gbnf import grammar_of_gbnf
from .json_schema import grammar_of_schema
from .lark import grammar_of_lark
from .matcher import Compiled, Matcher
from .verbatim import lark_literal

_CACHED = 256
MOST_COMMITMENT_TOKENS = 1024
MOST_LEXER_WORK = 500_000
"""Of the engine, over the terminals of a grammar: about half a second on a slow machine."""


def limits() -> LLParserLimits:
    """What compiling a grammar may cost."""
    return LLParserLimits(verbose_errors=False, initial_lexer_fuel=MOST_LEXER_WORK)


class Compiler:
    """Compiles each constraint once and hands out forks of it.

    `hits` counts the times that one was known; `written` are the bytes of each token that texts
    are spelt with, b"" for tokens of their own. Raises `SchemaError` (or `InputError` for the
    other kinds) for what cannot be compiled; nothing is compiled leniently.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._tokenizer, self.written = constraint_tokenizer(model)
        self._endings = Endings(self.written)
        self._limits = limits()
        self._compiled: OrderedDict[Constraint, Compiled] = OrderedDict()
        self.hits = 0

    def matcher(self, constraint: Constraint) -> Matcher:
        """A fresh matcher at the grammar's start."""
        known = self._compiled.get(constraint)
        if known is not None:
            self.hits += 1
        else:
            known = self._compile(constraint)
            if not constraint.input:  # else one item's grammar: nobody will ask for it again
                self._compiled[constraint] = known
            if len(self._compiled) > _CACHED:
                self._compiled.popitem(last=False)
        return Matcher(known, self._endings)

    def _compile(self, constraint: Constraint) -> Compiled:
        if constraint.kind == "json_schema":
            schema = grammar_of_schema(constraint.source, constraint.input, constraint.options)
            grammar, n_bytes = schema.text, schema.commitment_bytes
        else:
            schema, n_bytes = None, len(constraint.source)
            grammar = grammar_of(constraint, self._token_id, self._tokenizer)
        compiled = compiled_grammar(grammar, constraint.kind, self._tokenizer, self._limits)
        commitment = min(MOST_COMMITMENT_TOKENS, n_bytes // 2)
        return Compiled(compiled, self._tokenizer, commitment, schema)

    def _token_id(self, text: str) -> int:
        """The one token that is written so, control tokens included."""
        ids = self._model.tokenize(text, special=True)
        if len(ids) != 1:
            raise InputError(f"{text!r} is {len(ids)} tokens of this model, not one")
        return ids[0]


def compiled_grammar(
    grammar: str, kind: str, tokenizer: LLTokenizer, limits: LLParserLimits
) -> LLMatcher:
    """A grammar of the engine at its start. Raises `SchemaError` or `InputError`, by `kind`."""
    compiled = on_deep_stack(lambda: LLMatcher(tokenizer, grammar, log_level=0, limits=limits))
    if compiled.is_error():
        reason = " ".join(compiled.get_error().split("<backtrace>")[0].split())[:300]
        if kind == "json_schema":
            raise SchemaError(f"this schema cannot be enforced: {reason}")
        raise InputError(f"this {kind} cannot be enforced: {reason}")
    return compiled


def grammar_of(
    constraint: Constraint, token_id: Callable[[str], int], tokenizer: LLTokenizer
) -> str:
    """The engine's grammar of a constraint that is no schema. `token_id` knows tokens by name."""
    source = constraint.source
    check_size(source)
    match constraint.kind:
        case "choice":
            return _grammar_of_choices(choices_of(source))
        case "regex":
            return str(LLMatcher.grammar_from_regex(source))
        case "gbnf":
            return grammar_of_gbnf(source, token_id, tokenizer)
        case "lark":
            return grammar_of_lark(source)
        case "json_schema":
            raise ValueError("a schema's grammar is made by grammar_of_schema")


def choices_of(source: str) -> list[str]:
    """The choices of a constraint. Raises `LabelError` for what is no list of distinct texts."""
    try:
        choices = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise LabelError(f"the choices are not a JSON array: {error.msg}") from error
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise LabelError("the choices must be a JSON array of strings")
    if not choices or len(set(choices)) != len(choices) or "" in choices:
        raise LabelError("choices must be distinct, non-empty texts, at least one")
    return choices


def _grammar_of_choices(choices: list[str]) -> str:
    alternatives = " | ".join(lark_literal(choice) for choice in choices)
    return str(LLMatcher.grammar_from_lark(f"start: {alternatives}"))
