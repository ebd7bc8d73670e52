"""Command lines: the grammar allows what argparse accepts, and nothing else."""

from __future__ import annotations

import shlex

import pytest
from command_lines import accepts, parser_of, random_argv, random_spec, walk
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import WordBackend, always, run_by_hand

from vedette.errors import CapabilityMissing, ConstraintFailed, InputError, InputTooLong
from vedette.tasks.command import WriteCommand
from vedette.tasks.command_grammar import grammar_of, spellings
from vedette.tasks.command_spec import spec_of
from vedette.tasks.command_usage import usage

BACKUP = {
    "prog": "backup",
    "help": "Copies folders.",
    "options": [
        {"flags": ["-v", "--verbose"], "type": "flag", "help": "Say more."},
        {"flags": ["--level"], "type": "integer", "required": True},
        {"flags": ["--mode"], "choices": ["fast", "very slow"]},
        {"flags": ["--skip"], "nargs": "*"},
    ],
    "positionals": [{"name": "source", "help": "What to copy."}, {"name": "target"}],
}
GRAMMAR = grammar_of(spec_of(BACKUP))


@given(st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_every_text_of_the_grammar_is_accepted_by_argparse(rng):
    spec = random_spec(rng)
    text = walk(grammar_of(spec_of(spec)), rng)
    parser_of(spec).parse_args(shlex.split(text)[1:])


@given(st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_every_legal_command_line_is_of_the_grammar_however_its_words_are_quoted(rng):
    spec = random_spec(rng)
    argv = random_argv(spec, rng)
    parser_of(spec).parse_args(argv[1:])
    line = " ".join(
        word if shlex.quote(word) == word else rng.choice(spellings(word)) for word in argv
    )
    assert shlex.split(line) == argv
    assert accepts(grammar_of(spec_of(spec)), line)


@pytest.mark.parametrize(
    "line",
    [
        "backup --level 3 a b",
        "backup -v --level 3 a b --skip",
        "backup --mode 'very slow' --level -3 a b --skip x 'y z'",
        'backup --level 0 "it\'s" b',
    ],
)
def test_these_are_legal(line):
    assert accepts(GRAMMAR, line)


@pytest.mark.parametrize(
    "line",
    [
        "backup a b",  # --level is required
        "backup --level 3 a",
        "backup --level 3 a b c",
        "backup --level 3 --level 4 a b",
        "backup -v --verbose --level 3 a b",
        "backup --level x a b",
        "backup --level 03 a b",
        "backup --mode slow --level 3 a b",
        "backup --level 3 --skip x a b",  # would take a and b too
        "backup --level 3 -x b",
        "backup --level 3 '-x' b",
        "backup --level 3 $HOME b",
        'backup --level 3 "$HOME" b',
        "backup --level 3 a* b",
        "backup --level 3 a b; ls",
        "backup --level 3 'a b",
        "backup  --level 3 a b",
        "backup --level 3 a b\n",
        "other --level 3 a b",
    ],
)
def test_these_are_not(line):
    assert not accepts(GRAMMAR, line)


def test_more_options_than_a_rule_has_bits_are_still_each_at_most_once():
    options = [{"flags": [f"--o{i}"], "type": "flag", "required": i == 99} for i in range(100)]
    grammar = grammar_of(spec_of({"prog": "x", "options": options}))
    assert accepts(grammar, "x --o59 --o3 --o99 --o70")
    assert not accepts(grammar, "x --o59 --o3")
    assert not accepts(grammar, "x --o99 --o70 --o70")


def test_the_model_reads_a_page_of_help():
    assert usage(spec_of(BACKUP)).splitlines() == [
        "backup [options] source target: Copies folders.",
        "  -v, --verbose: Say more.",
        "  --level N: required",
        "  --mode fast|very slow",
        "  --skip [TEXT ...]",
        "  source: What to copy.",
        "  target",
    ]


def test_the_answer_is_argv_and_the_same_as_a_line():
    reply = "backup --level 3 \"it's\" 'b c'"
    answer, _ = run_by_hand(WriteCommand(spec_of(BACKUP)), "copy", always(reply))
    assert answer.value["argv"] == ["backup", "--level", "3", "it's", "b c"]
    assert shlex.split(answer.value["command"]) == answer.value["argv"]


def test_what_cannot_be_answered_is_an_error_and_never_half_an_answer():
    task = WriteCommand(spec_of(BACKUP))
    with pytest.raises(ConstraintFailed, match="no command line"):
        run_by_hand(task, "copy", always("backup 'a"))
    with pytest.raises(InputTooLong):
        run_by_hand(task, "word " * 5000, always(""))
    with pytest.raises(CapabilityMissing):
        run_by_hand(task, "x", always(""), WordBackend(can_constrain=False))
    with pytest.raises(InputError, match="max_tokens is 0"):
        WriteCommand(spec_of(BACKUP), max_tokens=0)
    assert run_by_hand(task, " ", always(""))[0].value is None


def with_option(**keys):
    return {"prog": "x", "options": [{"flags": ["--a"], **keys}]}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ([], "the specification must be an object"),
        ({}, "'prog' must be one word, not None"),
        ({"prog": "a b"}, "'prog' must be one word, not 'a b'"),
        ({"prog": "x", "optoins": []}, "unknown key 'optoins'"),
        ({"prog": "x", "name": "y"}, "not 'name'"),
        ({"prog": "x", "options": {}}, "options must be a list"),
        ({"prog": "x", "options": [{}]}, "an option of x has no flags"),
        (with_option(flags=["a"]), "'a' is no option of x"),
        (with_option(flags=["--a", "--a"]), "x has the option --a twice"),
        (with_option(dest="b"), "unknown key 'dest'"),
        (with_option(type="int"), "x --a: the type 'int' is none of string, integer"),
        (with_option(nargs=0), "x --a: nargs is 0"),
        (with_option(nargs=True), "x --a: nargs is True"),
        (with_option(type="flag", nargs=1), "'nargs' has no meaning"),
        (with_option(required="yes"), "required must be true or false"),
        (with_option(help=3), "help must be a text"),
        (with_option(choices=[]), "choices must be a list"),
        (with_option(choices=["a", "a"]), "x --a has the choice 'a' twice"),
        (with_option(choices=["-a"]), "'-a' cannot be written"),
        (with_option(choices=["a\n"]), "cannot be written"),
        (with_option(type="integer", choices=["1"]), "the choice '1' is no integer"),
        ({"prog": "x", "positionals": [{"name": "a b"}]}, "it must be one word"),
        ({"prog": "x", "positionals": [{"name": "a", "type": "flag"}]}, "cannot be a flag"),
        ({"prog": "x", "positionals": [{"name": "a"}] * 2}, "the positional a twice"),
        ({"prog": "x", "subcommands": [{"prog": "a"}]}, "a subcommand of x: 'name' must be"),
        ({"prog": "x", "subcommands": [{"name": "a"}] * 2}, "the subcommand a twice"),
        (
            {**with_option(nargs="+"), "subcommands": [{"name": "a"}]},
            "x has subcommands, so --a must say how many values it takes",
        ),
    ],
)
def test_what_is_wrong_with_a_specification_is_said_with_its_place(spec, said):
    with pytest.raises(InputError) as caught:
        spec_of(spec)
    assert said in caught.value.message
