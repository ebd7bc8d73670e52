"""Grammars, expressions and choice lists of the same kind: cut, too deep, too many, in circles."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from fuzz_schemas import PATTERNS, TRAPS, cut_text
from gbnf_grammars import TEXT, TOKENS

MakeText = Callable[[Random], str]

_GBNF = (*TEXT.values(), *TOKENS.values())
_LARK = (
    'start: "a" b*\nb: /[0-9]{2}/ | "x" start',
    'start: greeting " " NAME\ngreeting: "hello" | "bye"\nNAME: /[A-Z][a-z]{0,9}/',
    'start: "[" (item ("," item)*)? "]"\nitem: NUMBER | start\nNUMBER: /-?[0-9]{1,5}/',
    'start: %json {"type":"object","properties":{"a":{"enum":[1,2]}},"required":["a"]}',
    'start: "<" %regex {"substring_words": "the quick brown fox"} ">"',
    "start: expr\nexpr: expr /[+*]/ expr | /[0-9]/",
    "start: A & B\nA: /[a-z]{3}/\nB: /.*x.*/",
    'start: t[suffix=";"]\nt: /[a-z]+/',
    'start: item::_\nitem::_: "a" rest::set_bit(0) %if bit_clear(0) | "" %if bit_set(0)\n'
    "rest::_: item::_",
    'start: <|im_start|> "user"',
)
_LARK_EVIL = (
    *("start: start", 'start: start start | "a"', 'start: start "a"', "start: a\na: b\nb: a"),
    *("start: x\n", "", "start:", 'a: "b"', 'start: ""', 'start: ("a"?)*', "start: /(a+)+b/"),
    *("start: A\nA: A", 'start: A\nA: B "x"\nB: A', "start: ~/.*/", "start: A\nA: /a/ & /b/"),
    *("start: <|nope|>", "start: <[99999999]>", "start: <[0-5]>", "start: <[^0-300]>", "start: <["),
    *('start: "a"{1000000}', 'start: ("a"{1000}){1000}', 'start: "a"{,5}', 'start: "a"{5,2}'),
    *(
        "%import common.NUMBER\nstart: NUMBER",
        '%ignore " "\nstart: "a" "b"',
        "%declare X\nstart: X",
    ),
    *(
        'start: %json {"$ref":"#"}',
        "start: %json {",
        "start: %regex {}",
        'start: %lark { start: "a" }',
    ),
    *('%llguidance {"no_forcing": true}\nstart: "a"', "start: @other", "start: g[temperature=9]"),
    *("start: a[max_tokens=0]\na: /.*/", 'start: a[stop=""]\na: /.*/', "start: a[lazy]\na: /.*/"),
    *('start: x::0\nx::_: "a" x::incr(_) %if lt(_, 99999)', "start: /[/", "start: /(?=a)b/"),
    *(
        "start: a b\na: /[a-z]*/\nb: /[a-z]*/",
        'start: "\\ud800"',
        "start: /\\p{Nope}/",
        "start: //",
    ),
)
_GBNF_EVIL = (
    *("root ::= root", 'root ::= root "a"', "root ::= a\na ::= b\nb ::= a", 'root ::= "a" root'),
    *("", "root", "root ::=", 'rot ::= "a"', "root ::= missing", 'root ::= ("a"', 'root ::= "a'),
    *("root ::= (a*)*\na ::= b*\nb ::= a*", "root ::= [", "root ::= [^]*", "root ::= []"),
    *(
        'root ::= ("a"{1000}){1000}',
        'root ::= "a"{4294967296}',
        'root ::= "a"{5,2}',
        "root ::= .{99}",
    ),
    *("root ::= <[4000000000]>", "root ::= <[7]>*", "root ::= !<[65]>+", "root ::= <nope>"),
    *(
        'root ::= "\\uD800"',
        'root ::= "\\U00110000"',
        "root ::= [\\uD800-\\uDFFF]",
        'root ::= "\\q"',
    ),
    *('root ::= (("a"?)*)* "b"', 'root ::= ("a" | "a" "a")*', 'root ::= ("a"?){500} "a"{500}'),
    *("root ::= [a-z]+ [a-z]+ [a-z]+ [a-z]+ root?", 'root ::= "(" root ")" | root root | ""'),
)
_REGEX_EVIL = (
    "(" * 5000 + ")" * 5000,
    "(a|b){5000}",
    "[^a]" * 3000,
    "(?x) a b # c",
    "a&b",
    "~(a)",
    "a{3,1}",
)
_WORDS = ("yes", "no", "maybe", "true", '{"a":1}', " ", "a", "aa", "aaa", "positive", "\n", '"')


def gbnf_mutated(pick: Random) -> str:
    """A grammar of the tests, spoilt."""
    return cut_text(pick, pick.choice(_GBNF))


def gbnf_evil(pick: Random) -> str:
    """A grammar known to be trouble, now and then spoilt too."""
    source = pick.choice(_GBNF_EVIL)
    return cut_text(pick, source) if pick.random() < 0.3 else source


def gbnf_soup(pick: Random) -> str:
    """Rules of random pieces."""
    names = [f"r{i}" for i in range(pick.randint(0, 4))]
    pieces = (
        '"a"',
        '"b"',
        "[a-c]",
        "[^x]",
        ".",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{0,3}",
        *names,
    )
    rules = ["root", *names]
    return "\n".join(
        f"{n} ::= {' '.join(pick.choices(pieces, k=pick.randint(1, 9)))}" for n in rules
    )


def gbnf_large(pick: Random) -> str:
    """Long chains of rules, many alternatives, deep brackets, long texts."""
    n = pick.choice((200, 2000, 20_000))
    chain = "\n".join(f"r{i} ::= r{i + 1}" for i in range(n))
    return pick.choice(
        (
            f'root ::= r0\n{chain}\nr{n} ::= "a"',
            "root ::= " + " | ".join(f'"word {i}"' for i in range(n)),
            "root ::= " + "(" * n + '"a"' + ")" * n,
            'root ::= "' + "ab" * n + '"',
            "root ::= " + '"a"? ' * min(n, 2000),
            "root ::= " + "[a-z] " * n,
            'root ::= "a"' + "{2}" * min(n, 40),
        )
    )


def lark_mutated(pick: Random) -> str:
    """A good grammar, spoilt, or as it is."""
    source = pick.choice(_LARK)
    return cut_text(pick, source) if pick.random() < 0.8 else source


def lark_evil(pick: Random) -> str:
    """A grammar known to be trouble, now and then spoilt too."""
    source = pick.choice(_LARK_EVIL)
    return cut_text(pick, source) if pick.random() < 0.3 else source


def lark_large(pick: Random) -> str:
    """Long chains of rules, many alternatives, deep brackets."""
    n = pick.choice((200, 2000, 20_000))
    rules = "\n".join(f"r{i}: r{i + 1}" for i in range(n))
    terminals = "\n".join(f'T{i}: T{i + 1} "x"?' for i in range(n))
    return pick.choice(
        (
            f'start: r0\n{rules}\nr{n}: "a"',
            f"start: T0\n{terminals}\nT{n}: /a/",
            "start: " + " | ".join(f'"word {i}"' for i in range(n)),
            "start: " + "(" * n + '"a"' + ")" * n,
            "start: /" + "|".join(f"w{i}" for i in range(n)) + "/",
            "start: " + " ".join('"a"?' for _ in range(min(n, 2000))),
        )
    )


def regex_any(pick: Random) -> str:
    """An expression, good, bad or catastrophic, now and then spoilt."""
    source = pick.choice((*PATTERNS, *_REGEX_EVIL))
    return cut_text(pick, source) if pick.random() < 0.4 else source


def choices_any(pick: Random) -> str:
    """Lists of choices: prefixes of each other, 100,000 of them, doubled, none, no texts."""
    n = pick.choice((1, 3, 50, 3000, 100_000))
    lists = (
        [*pick.sample(_WORDS, 4)],
        [*pick.sample(TRAPS, pick.randint(1, 6))],
        [f"choice {i}" for i in range(n)],
        ["a" * (i + 1) for i in range(min(n, 800))],
        [pick.choice(_WORDS), pick.choice(_WORDS)],
        [],
        [1, "a", None],
        "not a list",
        ["x" * n],
    )
    text = json.dumps(pick.choice(lists))
    return cut_text(pick, text) if pick.random() < 0.3 else text


# Each as often as it stands here.
GRAMMARS: dict[str, tuple[MakeText, ...]] = {
    "gbnf": (gbnf_mutated, gbnf_mutated, gbnf_evil, gbnf_evil, gbnf_soup, gbnf_soup, gbnf_large),
    "lark": (lark_mutated, lark_mutated, lark_mutated, lark_evil, lark_evil, lark_large),
    "regex": (regex_any,),
    "choice": (choices_any,),
}
