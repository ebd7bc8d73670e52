"""A GBNF grammar in llguidance's notation."""

from __future__ import annotations

from collections.abc import Callable

from llguidance import LLMatcher, LLTokenizer

from vedette.errors import InputError

from .ast import Grammar, Literal, TokenRef
from .flat import Call, FlatGrammar, Many, Part, Term, Token, nesting
from .parse import parse_gbnf
from .pieces import Pieces, times
from .terminals import choose_terminals
from .tokens import named_tokens, resolved

MAX_NESTING = 500
"""llguidance walks into the rules on its own stack and ends the process at some thousand."""


MAX_WRITTEN = 40_000
"""Characters of literals, and three times the other items: about a second on a slow machine."""


def grammar_of_gbnf(
    source: str, token_id: Callable[[str], int], tokenizer: LLTokenizer | None = None
) -> str:
    """The llguidance grammar that allows what llama.cpp allows under this GBNF text.

    `token_id` gives the id for the text of a token literal, brackets included (`<think>`), read
    with control tokens; it raises `InputError` if that is not exactly one token. `tokenizer` is
    the one that the grammar will be used with; without token literals it is not needed.

    Raises `InputError`, with line and column, for a text that is no GBNF or cannot be followed.
    """
    return str(LLMatcher.grammar_from_lark(lark_of_gbnf(source, token_id, tokenizer)))


def lark_of_gbnf(
    source: str, token_id: Callable[[str], int], tokenizer: LLTokenizer | None = None
) -> str:
    """The same as `grammar_of_gbnf`, as Lark text."""
    grammar = parse_gbnf(source)
    _check_size(grammar)
    named: dict[int | str, int] = {}
    ending: set[int] = set()
    first = next((item for item in grammar.items() if isinstance(item, TokenRef)), None)
    if first is not None:
        if tokenizer is None:
            raise InputError(
                f"the grammar, {first.place}: token literals need the vocabulary of a model",
                hint="give the tokenizer with the grammar",
            )
        ending = set(tokenizer.eos_tokens)
        named = named_tokens(grammar, token_id, tokenizer)
        grammar = resolved(grammar, named, ending)
    pieces = Pieces(grammar)

    def spelling(token: int) -> str | None:
        return _spelling(token, tokenizer)

    flat = choose_terminals(grammar, pieces, spelling)
    if nesting(flat) > MAX_NESTING:
        raise InputError(
            f"the rules of the grammar refer to each other more than {MAX_NESTING} levels deep",
            hint="write long chains of rules as one rule with groups and repetitions",
        )
    return _Writer(pieces, sorted({*named.values(), *ending})).lark(flat)


def _check_size(grammar: Grammar) -> None:
    n_written = sum(
        len(item.code_points) if isinstance(item, Literal) else 3 for item in grammar.items()
    )
    if n_written > MAX_WRITTEN:
        raise InputError(
            f"the grammar is too large: its characters, and three times its classes, references "
            f"and groups, come to {n_written:,}; at most {MAX_WRITTEN:,} can be followed",
            hint="write a long list of texts as choices",
        )


def _spelling(token: int, tokenizer: LLTokenizer | None) -> str | None:
    assert tokenizer is not None  # asked about token literals only
    if tokenizer.is_special_token(token):
        return None
    try:
        return tokenizer.decode_bytes([token]).decode()
    except UnicodeDecodeError:
        return ""


class _Writer:
    """Writes a flat grammar as Lark; equal terminals get one name."""

    def __init__(self, pieces: Pieces, excluded: list[int]) -> None:
        self._pieces = pieces
        self._terminals: dict[str, str] = {}
        self._others = f"<[^{','.join(map(str, excluded))}]>"

    def lark(self, flat: FlatGrammar) -> str:
        lines = [f"{name}: {self._body(body)}" for name, body in flat.items()]
        lines += [f"{name}: /{pattern}/" for pattern, name in self._terminals.items()]
        return "\n".join(lines) + "\n"

    def _body(self, body: list[tuple[Part, ...]]) -> str:
        return " | ".join(" ".join(map(self._part, parts)) or '""' for parts in body)

    def _part(self, part: Part) -> str:
        match part:
            case Term(piece, _):
                pattern = self._pieces.pattern(piece)
                return self._terminals.setdefault(pattern, f"T{len(self._terminals)}")
            case Call(name):
                return name
            case Token(ref):
                return self._others if ref.negated else f"<[{ref.token}]>"
            case Many(inner, low, high):
                return self._part(inner) + times(low, high)
