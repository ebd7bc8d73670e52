"""llama.cpp's own reading of a GBNF text, and texts to ask it about."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import llama_cpp
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from vedette.engine.constraint.gbnf import grammar_of_gbnf, parse_gbnf
from vedette.engine.constraint.gbnf.ast import (
    Alternatives,
    AnyChar,
    CharClass,
    Item,
    Literal,
    Repeat,
    RuleRef,
    TokenRef,
)
from vedette.engine.constraint.gbnf.chars import Ranges, chars_of, is_text, merged
from vedette.engine.llama.model import Model
from vedette.engine.llama.vocabulary import constraint_tokenizer
from vedette.errors import InputError

Tokens = tuple[int, ...]


class Reader:
    """Both sides over the vocabulary of one tiny model, in which token 0 to 255 is that byte."""

    def __init__(self, model: Model) -> None:
        assert all(model.piece(byte) == bytes((byte,)) for byte in range(256))
        self.model = model
        self.tokenizer: LLTokenizer = constraint_tokenizer(model)[0]

    def token_id(self, text: str) -> int:
        """What llama.cpp takes a token literal for."""
        tokens = self.model.tokenize(text, special=True)
        if len(tokens) != 1:
            raise InputError(f"{text!r} is {len(tokens)} tokens, not one")
        return tokens[0]

    def ours(self, source: str) -> Callable[[Tokens], bool]:
        """Whether a whole text is legal, as llguidance sees the lowered grammar."""
        grammar = grammar_of_gbnf(source, self.token_id, self.tokenizer)
        limits = LLParserLimits(verbose_errors=False)
        start = LLMatcher(self.tokenizer, grammar, log_level=0, limits=limits)
        assert not start.is_error(), start.get_error()

        def accepts(tokens: Tokens) -> bool:
            matcher = start.deep_copy()
            taken = matcher.try_consume_tokens(list(tokens))
            assert not matcher.is_error(), matcher.get_error()
            return taken == len(tokens) and matcher.is_accepting()

        return accepts


class LlamaGrammar:
    """llama.cpp's grammar sampler. Raises ValueError for a source that it refuses."""

    def __init__(self, model: Model, source: str) -> None:
        self._eos = model.eog_tokens[0]
        self._sampler = llama_cpp.llama_sampler_init_grammar(model.vocab, source.encode(), b"root")
        if not self._sampler:
            raise ValueError("llama.cpp refuses this grammar")
        self._token = llama_cpp.llama_token_data()
        self._array = llama_cpp.llama_token_data_array(
            data=ctypes.pointer(self._token), size=1, selected=-1, sorted=False
        )

    def __enter__(self) -> LlamaGrammar:
        return self

    def __exit__(self, *_: object) -> None:
        llama_cpp.llama_sampler_free(self._sampler)

    def accepts(self, tokens: Tokens) -> bool:
        """Whether these tokens are allowed one by one, and the end after them."""
        llama_cpp.llama_sampler_reset(self._sampler)
        for token in tokens:
            if not self._allows(token):
                return False
            llama_cpp.llama_sampler_accept(self._sampler, token)
        return self._allows(self._eos)

    def _allows(self, token: int) -> bool:
        self._token.id, self._token.logit = token, 0.0
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(self._array))
        return not math.isinf(self._token.logit)


class Texts:
    """Random texts around one grammar, as tokens of one byte each and token literals.

    Where a negated class leaves out a character beyond ASCII, llama.cpp refuses the first byte of
    every character that begins with the same one. Other characters are taken in such a grammar.
    """

    def __init__(self, source: str, token_id: Callable[[str], int], seed: int) -> None:
        self._grammar = parse_gbnf(source)
        self._token_id = token_id
        self._random = random.Random(seed)
        self.has_tokens = any(isinstance(item, TokenRef) for item in self._grammar.items())
        self._height = self._heights()
        self._left_out = set(self._negated())
        self._blocked = {chr(c).encode()[0] for c in self._left_out}
        self._units = sorted(set(self._alphabet()), key=str)

    def legal(self) -> Tokens:
        """A text that the grammar derives."""
        return tuple(t for unit in self._derived() for t in unit)

    def mutated(self) -> Tokens:
        """A derived text with one to three changes, most of them not legal."""
        units = self._derived()
        for _ in range(self._random.randint(1, 3)):
            self._change(units)
        return tuple(t for unit in units for t in unit)

    def _derived(self) -> list[Tokens]:
        root = self._grammar.rules["root"].body
        room = [self._random.choice((2, 6, 20))]
        return list(self._derive(root, room))

    def _change(self, units: list[Tokens]) -> None:
        at = self._random.randint(0, len(units))
        match self._random.randrange(6):
            case 0:
                units.insert(at, self._random.choice(self._units))
            case 1:
                del units[at : at + 1]
            case 2:
                units[at : at + 1] = [self._random.choice(self._units)]
            case 3:
                units[at:at] = units[at : at + self._random.randint(1, 4)]
            case 4:
                units[at : at + 2] = reversed(units[at : at + 2])
            case 5:
                del units[at:]

    def _derive(self, item: Item, room: list[int]) -> Iterator[Tokens]:
        """Choices are free while there is room; then the way with the fewest levels is taken."""
        pick = self._random
        match item:
            case Literal(code_points):
                yield from map(_bytes, code_points)
            case CharClass() | AnyChar():
                yield _bytes(self._member(chars_of(item)))
            case RuleRef(name):
                room[0] -= 1
                yield from self._derive(self._grammar.rules[name].body, room)
            case TokenRef():
                yield (self._token(item),)
            case Repeat(inner, low, high):
                more = 0
                while room[0] > 0 and pick.random() < 0.6 and (high is None or low + more < high):
                    more += 1
                    room[0] -= 1
                if high is not None and high < 300 and pick.random() < 0.05 and room[0] > 0:
                    more = high - low
                for _ in range(low + more):
                    yield from self._derive(inner, room)
            case Alternatives(options):
                free = room[0] > 0
                option = pick.choice(options) if free else min(options, key=self._option_height)
                for part in option.items:
                    yield from self._derive(part, room)

    def _token(self, ref: TokenRef) -> int:
        token = ref.token if isinstance(ref.token, int) else self._token_id(ref.token)
        if not ref.negated:
            return token
        others = [unit[0] for unit in self._units if len(unit) == 1 and unit[0] != token]
        return self._random.choice(others)

    def _member(self, ranges: Ranges) -> int:
        while True:
            low, high = self._random.choice(ranges)
            near = self._random.randint(low, min(high, low + 300))
            member = self._random.choice((low, high, near, near))
            if self._is_askable(member):
                return member

    def _is_askable(self, member: int) -> bool:
        return member in self._left_out or chr(member).encode()[0] not in self._blocked

    def _negated(self) -> Iterator[int]:
        """The characters beyond ASCII that negated classes leave out."""
        for item in self._grammar.items():
            if isinstance(item, CharClass) and item.negated:
                for low, high in merged(item.ranges):
                    yield from filter(is_text, range(max(low, 128), min(high, 0x10FFFF) + 1))

    def _alphabet(self) -> Iterator[Tokens]:
        """What mutations put in: characters at and around the edges of all sets, and tokens."""
        near = set(map(ord, 'ab0Z "\\\n.x'))
        for item in self._grammar.items():
            if isinstance(item, Literal):
                near.update(item.code_points)
            elif isinstance(item, CharClass):
                near.update(c + d for pair in chars_of(item) for c in pair for d in (-1, 0, 1))
            elif isinstance(item, TokenRef):
                yield (item.token if isinstance(item.token, int) else self._token_id(item.token),)
        # a token literal can meet half a character; what follows then is nobody's definition
        for c in filter(is_text, near):
            if self._is_askable(c) and (c < 128 or not self.has_tokens):
                yield _bytes(c)

    def _heights(self) -> dict[str, float]:
        self._height = dict.fromkeys(self._grammar.rules, math.inf)
        for _ in self._grammar.rules:
            for name, rule in self._grammar.rules.items():
                self._height[name] = 1 + self._item_height(rule.body)
        return self._height

    def _item_height(self, item: Item) -> float:
        match item:
            case RuleRef(name):
                return self._height[name]
            case Repeat(inner, low, _):
                return self._item_height(inner) if low else 0
            case Alternatives(options):
                return min(map(self._option_height, options))
            case _:
                return 0

    def _option_height(self, option: object) -> float:
        return max(map(self._item_height, option.items), default=0)  # type: ignore[attr-defined]


def _bytes(code_point: int) -> Tokens:
    return tuple(chr(code_point).encode())


@dataclass(frozen=True, slots=True)
class Tally:
    """`differ`: texts on which the two sides disagree; `underivable`: derived, yet refused."""

    strings: int
    legal: int
    differ: Sequence[bytes]
    underivable: Sequence[bytes]


def compare(reader: Reader, source: str, *, strings: int, seed: int = 0) -> Tally:
    """Ask both sides about so many legal texts and as many mutated ones.

    Each is asked about byte by byte, and, where no token literals are about, as the model's own
    tokenizer cuts it.
    """
    texts = Texts(source, reader.token_id, seed)
    ours = reader.ours(source)
    derived = {texts.legal() for _ in range(strings)}
    mutated = {texts.mutated() for _ in range(strings)} - derived
    differ, underivable, legal = [], [], 0
    with LlamaGrammar(reader.model, source) as theirs:
        for tokens in (*derived, *mutated):
            answers = ours(tokens), theirs.accepts(tokens)
            legal += answers[1]
            if not texts.has_tokens:
                whole = tuple(reader.model.tokenize(bytes(tokens).decode()))
                answers += (ours(whole), theirs.accepts(whole))
            spelt = b"".join(reader.model.piece(token, special=True) for token in tokens)
            if len(set(answers)) > 1:
                differ.append(spelt)
            if tokens in derived and not answers[1]:
                underivable.append(spelt)
    return Tally(len(derived) + len(mutated), legal, differ, underivable)
