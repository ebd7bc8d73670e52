"""Random specifications, their legal command lines, and argparse as the judge of both."""

from __future__ import annotations

import argparse
import random
import re
from typing import Any

from llguidance import LLMatcher, LLTokenizer

TYPES = {"integer": int, "number": float, "string": str}
TEXTS = ("plain", "two words", "it's", 'a "b"', "x=1", "$HOME", "", "日本", "a\\b", "*.py", "~")
BYTES = LLTokenizer("byte")


def parser_of(spec: dict[str, Any]) -> argparse.ArgumentParser:
    """The parser that the specification describes; an error raises instead of exiting."""
    parser = _Parser(prog=spec.get("prog", "x"), allow_abbrev=False)
    _add(parser, spec)
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError(message)


def _add(parser: argparse.ArgumentParser, spec: dict[str, Any]) -> None:
    for option in spec.get("options", []):
        required = option.get("required", False)
        if option.get("type") == "flag":
            parser.add_argument(*option["flags"], action="store_true", required=required)
        else:
            parser.add_argument(*option["flags"], required=required, **_keywords(option))
    for positional in spec.get("positionals", []):
        parser.add_argument(positional["name"], **_keywords(positional))
    if spec.get("subcommands"):
        group = parser.add_subparsers(required=True, parser_class=_Parser)
        for sub in spec["subcommands"]:
            _add(group.add_parser(sub["name"], allow_abbrev=False), sub)


def _keywords(entry: dict[str, Any]) -> dict[str, Any]:
    keywords = {"type": TYPES[entry.get("type", "string")]}
    for key in ("choices", "nargs"):
        if key in entry:
            keywords[key] = entry[key]
    return keywords


def walk(grammar: str, rng: random.Random) -> str:
    """A random text of the grammar, byte by byte; quoted values are kept short."""
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(grammar), log_level=0)
    text = b""
    while True:
        mask = matcher.compute_bitmask()
        allowed = [i for i in range(BYTES.vocab_size) if mask[i // 8] >> (i % 8) & 1]
        byte = choose(allowed, rng)
        if byte == BYTES.eos_token:
            return text.decode()
        assert matcher.consume_token(byte)
        text += bytes([byte])


def choose(allowed: list[int], rng: random.Random) -> int:
    """Ends of values and of the text are likelier, or hardly any walk would end."""
    ends = [i for i in allowed if i == BYTES.eos_token or i in b" '\""]
    return rng.choice(ends if ends and rng.random() < 0.5 else allowed)


def accepts(grammar: str, text: str) -> bool:
    """Whether the whole text is of the grammar."""
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(grammar), log_level=0)
    data = list(text.encode())
    return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()


def random_spec(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Options, positionals and subcommands of every kind that the format knows."""
    has_subs = depth < 2 and rng.random() < 0.3
    flags = iter(rng.sample(["-a", "-b", "--cc", "--d-d", "-5", "--ee", "-f", "--gg"], 8))
    options = [_random_option(rng, flags, has_subs) for _ in range(rng.randint(0, 4))]
    positionals = [
        {"name": f"p{i}", **_random_values(rng, fixed=has_subs or i > 0)}
        for i in range(rng.randint(0, 2))
    ]
    for positional in positionals:  # argparse checks an empty list against the choices
        if positional.get("nargs") == "*":
            positional.pop("choices", None)
    spec: dict[str, Any] = {"options": options, "positionals": positionals}
    spec["prog" if depth == 0 else "name"] = f"cmd{depth}"
    if has_subs:
        subs = [random_spec(rng, depth + 1) for _ in range(rng.randint(1, 2))]
        spec["subcommands"] = [{**sub, "name": f"s{i}"} for i, sub in enumerate(subs)]
    return spec


def _random_option(rng, flags, fixed: bool) -> dict[str, Any]:
    own = [next(flags) for _ in range(rng.randint(1, 2))]
    required = {"required": True} if rng.random() < 0.3 else {}
    if rng.random() < 0.3:
        return {"flags": own, "type": "flag", **required}
    return {"flags": own, **required, **_random_values(rng, fixed)}


def _random_values(rng, fixed: bool) -> dict[str, Any]:
    values: dict[str, Any] = {"type": rng.choice(["string", "integer", "number"])}
    if rng.random() < 0.3:
        pool = {"string": ["red", "dark blue", "it's"], "integer": [1, 22], "number": [0.5, 3]}
        values["choices"] = pool[values["type"]]
    nargs = rng.choice([None, None, 2] if fixed else [None, "?", "*", "+", 2])
    return {**values, **({"nargs": nargs} if nargs is not None else {})}


def random_argv(spec: dict[str, Any], rng: random.Random) -> list[str]:
    """A legal command line in the order that the grammar has: see its docstring."""
    options = [o for o in spec["options"] if o.get("required") or rng.random() < 0.5]
    rng.shuffle(options)
    is_loose = {"?", "*", "+"}
    late = [o for o in options if spec["positionals"] and o.get("nargs") in is_loose]
    numeric = any(re.fullmatch(r"-\d", f) for o in spec["options"] for f in o["flags"])
    argv = [spec.get("prog") or spec["name"]]
    for option in (o for o in options if o not in late):
        argv += [rng.choice(option["flags"]), *_random_words(option, rng, numeric)]
    for positional in spec["positionals"]:
        argv += _random_words(positional, rng, numeric)
    for option in late:
        argv += [rng.choice(option["flags"]), *_random_words(option, rng, numeric)]
    if spec.get("subcommands"):
        argv += random_argv(rng.choice(spec["subcommands"]), rng)
    return argv


def _random_words(entry: dict[str, Any], rng: random.Random, numeric: bool) -> list[str]:
    if entry.get("type") == "flag":
        return []
    counts = {None: (1, 1), "?": (0, 1), "*": (0, 3), "+": (1, 3)}
    nargs = entry.get("nargs")
    least, most = (nargs, nargs) if isinstance(nargs, int) else counts[nargs]
    return [_random_word(entry, rng, numeric) for _ in range(rng.randint(least, most))]


def _random_word(entry: dict[str, Any], rng: random.Random, numeric: bool) -> str:
    if "choices" in entry:
        return str(rng.choice(entry["choices"]))
    numbers = ["0", "7", "120", *([] if numeric else ["-3"])]
    if entry["type"] == "integer":
        return rng.choice(numbers)
    return rng.choice([*numbers, "1.5"] if entry["type"] == "number" else TEXTS)
