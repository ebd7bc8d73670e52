"""GBNF, the grammar notation of llama.cpp, read as llama.cpp reads it."""

from .lower import grammar_of_gbnf, lark_of_gbnf
from .parse import parse_gbnf

__all__ = ["grammar_of_gbnf", "lark_of_gbnf", "parse_gbnf"]
