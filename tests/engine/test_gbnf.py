"""GBNF is read as llama.cpp reads it: what is legal, what is refused, where and in which words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gbnf_grammars import TEXT, TOKENS
from gbnf_oracle import LlamaGrammar, Reader, compare
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from vedette.engine.constraint.gbnf import lark_of_gbnf, parse_gbnf, terminals
from vedette.engine.constraint.gbnf.ast import (
    Alternatives,
    AnyChar,
    CharClass,
    Literal,
    Place,
    Repeat,
    RuleRef,
    Sequence,
    TokenRef,
)
from vedette.engine.constraint.gbnf.positions import Positions
from vedette.engine.llama.model import Model
from vedette.errors import InputError

STRINGS = 8  # of each side of legal, for each grammar; the benchmark asks about thousands


@pytest.fixture(scope="module")
def reader(tiny_full: Path) -> Iterator[Reader]:
    reader = Reader(Model(tiny_full))
    yield reader
    reader.model.close()


def accepts(reader: Reader, source: str, text: str) -> bool:
    return reader.ours(source)(tuple(text.encode()))


def lark(source: str) -> str:
    def no_token(text: str) -> int:
        raise InputError(f"there is no token {text!r}")

    return lark_of_gbnf(source, no_token)


def test_every_construct_has_its_node() -> None:
    grammar = parse_gbnf('root ::= "a\\n" [^b-d-]{2,} |\n  (x)? !<[7]>\nx ::= [] .')
    group = Alternatives((Sequence((RuleRef("x"),)),))
    assert grammar.rules["root"].body == Alternatives(
        (
            Sequence(
                (
                    Literal((97, 10)),
                    Repeat(CharClass(((98, 100), (45, 45)), negated=True), 2, None),
                )
            ),
            Sequence((Repeat(group, 0, 1), TokenRef(7, negated=True))),
        )
    )
    assert grammar.rules["x"].body == Alternatives((Sequence((Literal(()), AnyChar())),))


def test_lines_are_counted_by_any_line_end() -> None:
    grammar = parse_gbnf('root ::= x\r\nx ::= y\r# a\n  y ::= "b"')
    assert [rule.place for rule in grammar.rules.values()] == [
        Place(1, 1),
        Place(2, 1),
        Place(4, 3),
    ]


@pytest.mark.parametrize("name", [*TEXT, *TOKENS])
def test_llama_cpp_agrees_about_every_text(reader: Reader, name: str) -> None:
    tally = compare(reader, {**TEXT, **TOKENS}[name], strings=STRINGS)
    assert tally.differ == []
    assert tally.underivable == []
    assert tally.legal > 0


def test_most_mutated_texts_are_illegal(reader: Reader) -> None:
    tallies = [compare(reader, source, strings=STRINGS) for source in list(TEXT.values())[::4]]
    illegal = sum(tally.strings - tally.legal for tally in tallies)
    assert illegal > 0.3 * sum(tally.strings for tally in tallies)


LARGE = ["json", "arithmetic", "a number before two dots", "a comment or a slash"]


@pytest.mark.parametrize("name", LARGE)
def test_a_grammar_too_large_to_look_into_keeps_its_language(
    reader: Reader, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = lark(TEXT[name])
    monkeypatch.setattr(terminals, "MAX_STEPS", 0)
    assert lark(TEXT[name]) != merged
    tally = compare(reader, TEXT[name], strings=STRINGS)
    assert (tally.differ, tally.underivable) == ([], [])


@pytest.mark.parametrize("name", LARGE)
def test_a_grammar_looked_into_less_closely_keeps_its_language(
    reader: Reader, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def coarse(*args: Any, shared: bool) -> Positions:
        return Positions(*args, shared=True)

    monkeypatch.setattr(terminals, "Positions", coarse)
    tally = compare(reader, TEXT[name], strings=STRINGS)
    assert (tally.differ, tally.underivable) == ([], [])


def test_a_free_string_is_one_terminal() -> None:
    lines = [line for line in lark(TEXT["json"]).splitlines() if line.startswith("T")]
    assert any(line.count(r"\u{22}") >= 3 and "bfnrt" in line for line in lines)


@pytest.mark.parametrize(
    ("source", "legal", "illegal"),
    [
        # what llguidance's own converter refuses
        (r'root ::= "\-" [\-a]', ["--", "-a"], ["\\-a", "a"]),
        ('root ::= "a"{2}{2} "b"+*', ["aaaa", "aaaabb"], ["aa", "aaaaa"]),
        ('root ::= (\r\n"a"\r\n| "b"\r\n)', ["a", "b"], ["ab", ""]),
        ('root ::= start\nstart ::= "a"', ["a"], ["", "aa"]),
        ('root ::= fooBar foo-bar\nfooBar ::= "1"\nfoo-bar ::= "2"', ["12"], ["21", "11"]),
        # what it builds badly
        (r'root ::= "\u0041" "\U0001F600"', ["A😀"], ["A", "u0041"]),
        (r"root ::= [^\u0000-\u001f]", ["a", "\x7f"], ["\n", ""]),
        ('root ::= "\t"', ["\t"], ["t", "\\t"]),
        ('root ::= 0 9a\n0 ::= "x"\n9a ::= "y"', ["xy"], ["x"]),
        # what it reads differently
        ("root ::= .+", ["\n", "a\n\rb", "\u2028"], [""]),
        ('root ::= w "x"\nw ::= [a-z]*', ["x", "abcx", "xx"], ["abc", ""]),
        ("root ::= [a&&b]{2}", ["&&", "ab"], ["ac"]),
        ("root ::= [+--]", ["+", ",", "-"], ["."]),
        ("root ::= [a~~b] [a--b]", ["~b", "ab"], ["aa", "b-"]),
        ('root ::= a\na ::= "1"\na ::= "2"', ["2"], ["1", "12"]),
    ],
)
def test_what_llguidance_s_own_converter_gets_wrong(
    reader: Reader, source: str, legal: list[str], illegal: list[str]
) -> None:
    with LlamaGrammar(reader.model, source) as theirs:
        for text in (*legal, *illegal):
            assert accepts(reader, source, text) == (text in legal), text
            assert theirs.accepts(tuple(text.encode())) == (text in legal), text


@pytest.mark.parametrize(
    ("source", "legal", "illegal"),
    [
        ("root ::= [ab]{2001}", [2001], [2000, 2002]),
        ("root ::= [ab]{0,2500}", [0, 2001, 2500], [2501]),
        ("root ::= ([ab]{50}){50,60}", [2500, 2550, 3000], [2499, 3050]),
        ('root ::= "(" root ")" | [ab]{3000,}', [3000, 3001, 9000], [2999]),
        ('root ::= ("a" | "b"){0,100000}', [0, 100_000], [100_001]),
    ],
)
def test_counts_beyond_two_thousand_are_exact(
    reader: Reader, source: str, legal: list[int], illegal: list[int]
) -> None:
    for count in (*legal, *illegal):
        assert accepts(reader, source, "a" * count) == (count in legal), count


def test_a_whole_character_is_legal_beside_one_that_its_class_leaves_out(reader: Reader) -> None:
    """llama.cpp allows it as one token, but not the first of its bytes as another."""
    source, whole = r"root ::= [^\u00e8]", reader.model.tokenize("é")
    assert len(whole) == 1
    with LlamaGrammar(reader.model, source) as theirs:
        assert theirs.accepts(tuple(whole))
    assert reader.ours(source)(tuple(whole))
    assert accepts(reader, source, "é")
    assert not accepts(reader, source, "è")


REFUSED = [
    ("", "no rule 'root'", ""),
    ("# nothing", "no rule 'root'", ""),
    ('start ::= "a"', "no rule 'root'", ""),
    ("root", "::=", "line 1, column 5"),
    ('root = "a"', "::=", "line 1, column 6"),
    ('root ::= "a"\nfoo_bar ::= "b"', "::=", "line 2, column 4"),
    ('root\n::= "a"', "::=", "line 1, column 5"),
    ('root ::= "a"\n  | "b"', "rule name", "line 2, column 3"),
    ('root ::= "a" )', "newline", "line 1, column 14"),
    ('root ::= "a" & "b"', "newline", "line 1, column 14"),
    ('root ::= ("a"', "not closed", "line 1, column 10"),
    ('root ::= (\r\n"a"\r\n]', "line 1, column 10", "line 3, column 1"),
    ('root ::= "a', "not closed", "line 1, column 10"),
    ("root ::= [a", "not closed", "line 1, column 10"),
    ("root ::= [a-", "not closed", "line 1, column 10"),
    (r'root ::= "a\d"', r"unknown escape '\\d'", "line 1, column 12"),
    (r"root ::= [\w]", "unknown escape", "line 1, column 11"),
    (r"root ::= [\^]", "unknown escape", "line 1, column 11"),
    ('root ::= "\\', "unknown escape", "line 1, column 11"),
    (r'root ::= "\x4"', "2 hexadecimal", "line 1, column 11"),
    (r'root ::= "\u00g0"', "4 hexadecimal", "line 1, column 11"),
    (r'root ::= "\U0001F60"', "8 hexadecimal", "line 1, column 11"),
    ("root ::= *", "nothing to repeat", "line 1, column 10"),
    ('root ::= "a" | +', "nothing to repeat", "line 1, column 16"),
    ('root ::= "" ?', "nothing to repeat", "line 1, column 13"),
    ("root ::= []{2}", "nothing to repeat", "line 1, column 12"),
    ('root ::= "a"{0}*', "nothing to repeat", "line 1, column 16"),
    ('root ::= "a"{,3}', "number", "line 1, column 14"),
    ('root ::= "a"{1 2}', '"}"', "line 1, column 16"),
    ('root ::= "a"{2,x}', "number", "line 1, column 16"),
    ('root ::= "a"{99999999999999999999}', "too many", "line 1, column 14"),
    ("root ::= ! <[1]>", "<text>", "line 1, column 11"),
    ("root ::= <[x]>", "<[123]>", "line 1, column 10"),
    ("root ::= <[1>", "<[123]>", "line 1, column 10"),
    ("root ::= <[4294967296]>", "too large", "line 1, column 10"),
    ("root ::= <think", "<text>", "line 1, column 10"),
    ("root ::= <not-a-token>", "not one", "line 1, column 10"),
    ('root ::= "x" foo', "no rule 'foo'", "line 1, column 14"),
    ('root ::= "x" root2\n', "no rule 'root2'", "line 1, column 14"),
    ('root ::= root "a" | "b"', "root -> root", "line 1, column 1"),
    ('root ::= "a"? root "b"', "root -> root", "line 1, column 1"),
    ('root ::= "a"\nb ::= [] c "x"\nc ::= ("y" | d)\nd ::= b?', "b -> c -> d -> b", "line 2"),
]


@pytest.mark.parametrize(("source", "words", "place"), REFUSED)
def test_what_llama_cpp_refuses_is_refused_with_the_place(
    reader: Reader, source: str, words: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        reader.ours(source)
    assert words in str(caught.value)
    assert place in str(caught.value)
    if source:  # llama.cpp takes no text at all for no grammar at all
        with pytest.raises(ValueError, match="refuses"):
            LlamaGrammar(reader.model, source)


@pytest.mark.parametrize(
    ("source", "words", "place"),
    [
        ('root ::= "a" | "b"{3,2}', "3 to 2 times is impossible", "line 1, column 19"),
        ('root ::= "a" | "b" root2\nroot2 ::= "x" root2', "'root2' can never end", "line 2"),
        ("root ::= [z-a]", "no character", "line 1, column 10"),
        (r"root ::= [^\x01-\U0010FFFF]", "no character", "line 1, column 10"),
        (r'root ::= "x" | "\ud83d\ude00"', "no text holds U+D83D", "line 1, column 16"),
        (r'root ::= "\x00"', "no text holds U+0000", "line 1, column 10"),
        ('root ::= "a\0"', "no grammar file", "line 1, column 12"),
        ('root ::= "\ud800"', "no grammar file", "line 1, column 11"),
        ('root ::= "yes" <|im_end|>', "ends the answer", "line 1, column 16"),
        ("root ::= <[9999]>", "no token 9999", "line 1, column 10"),
        ("root ::= !<[9999]>", "no token 9999", "line 1, column 10"),
        ('root ::= "A" | <[65]> "b"', "both as this token literal", "line 1, column 16"),
        ('root ::= (!<[65]>)* "x"', "both as this token literal", "line 1, column 11"),
        ("root ::= " + "(" * 3000, "too deeply", ""),
        ('root ::= "a"' + "+" * 3000, "too deeply", ""),
        (
            "root ::= r0\n"
            + "".join(f'r{i} ::= "a" r{i + 1}\n' for i in range(3000))
            + 'r3000 ::= ""',
            "levels deep",
            "",
        ),
    ],
)
def test_what_could_never_be_followed_is_refused_up_front(
    reader: Reader, source: str, words: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        reader.ours(source)
    assert words in str(caught.value)
    assert place in str(caught.value)


def test_token_literals_need_a_vocabulary() -> None:
    with pytest.raises(InputError, match="line 1, column 14: token literals need"):
        lark('root ::= "a" !<[5]>')


def test_no_token_literal_lets_the_answer_end_early(reader: Reader) -> None:
    source = "root ::= !<[65]> <[66]>"
    assert reader.ours(source)((67, 66))
    for end in reader.model.eog_tokens:
        assert not reader.ours(source)((end, 66))
        assert not reader.ours(source)((end,))


@pytest.mark.parametrize("size", [200, 2000])
def test_a_long_list_of_words_stays_whole(reader: Reader, size: int) -> None:
    chance = random.Random(size)
    words = ["".join(chance.choices("abcdefgh", k=8)) for _ in range(size)]
    source = 'root ::= "[" (word ("," word)*)? "]"\nword ::= ' + " | ".join(
        f'"{word}"' for word in words
    )
    ours = reader.ours(source)
    assert ours(tuple(f"[{','.join(words)}]".encode()))
    assert not ours(tuple(f"[{','.join(words)},x]".encode()))


def test_rules_that_double_each_time_do_not_explode(reader: Reader) -> None:
    rules = "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(30))
    assert accepts(reader, f'root ::= r0\n{rules}r30 ::= "a"?', "a" * 10)


@settings(max_examples=150)
@given(st.sampled_from(sorted(TEXT)), st.randoms(use_true_random=False))
def test_a_broken_grammar_is_an_input_error_and_nothing_else(
    name: str, chance: random.Random
) -> None:
    source = list(TEXT[name])
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(source))
        source[at : at + chance.randint(0, 2)] = chance.choices(' \n"[](){}|*+?.^-\\<>!:=#a0', k=1)
    broken = "".join(source)
    try:
        text = lark(broken)
    except InputError as error:
        refusal = "" if "the grammar" in error.message else error.message
    else:
        refusal = LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(text))
    assert refusal == ""
