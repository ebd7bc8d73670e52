"""Values that are missing, cut, foreign or out of range; and what keeps speculation from paying."""

from __future__ import annotations

import pytest
from lint_support import BETWEEN, IK, NEW, OLD, codes, help_like

from vedette.errors import InputError
from vedette.spec.lint import Wish, lint_command
from vedette.spec.lint.bundled import bundled_table
from vedette.spec.lint.help_text import parse_help

START = "llama-server -m t.gguf"
DRAFT = f"{START} -md d.gguf --spec-type draft-simple"


def found(arguments: str, start: str = DRAFT, wish: Wish = NEW) -> list[str]:
    return codes(lint_command(f"{start} {arguments}", wish))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--spec-draft-n-max", ["missing-value"]),
        ("--spec-draft-n-max -ngl 9", ["missing-value"]),
        ("--spec-draft-n-max --spec-draft-n-min 1", ["missing-value"]),
        ("--spec-draft-n-max many", ["bad-value"]),
        ("--spec-draft-n-max 5.5", ["cut-number"]),
        ("--spec-draft-n-max -1", ["out-of-range"]),
        ("--spec-draft-n-max 5000", ["out-of-range"]),
        ("--spec-draft-p-min 1.5", ["out-of-range"]),
        ("--spec-draft-p-min 75%", ["bad-value"]),
        ("--spec-draft-prio 9", ["out-of-range"]),
        ("--spec-draft-ngl most", ["bad-value"]),
        ("--spec-draft-ngl all", []),
        ("-ngld -1", []),
        ("-ctkd q3_k", ["bad-value", "draft-cache"]),
        ("-ctkd bf16", []),
        ("-c 32k", ["cut-number"]),
        ("-fa", ["missing-value"]),
        ("-fa maybe", ["bad-value"]),
        ("-fa 1", []),
        ("--split-mode rows", ["bad-value"]),
        ("words", ["stray-word"]),
        ("-ngl 9 -ngl 9", ["given-twice"]),
        ("-ngl 9 --gpu-layers 8", ["given-twice"]),
        ("--lora a --lora b", ["adapter"]),
        ("-ot a=CPU -ot b=CPU", []),
        ("--warmup --no-warmup", ["given-twice"]),
        ("--spec-draft-n-max 4 --spec-draft-n-min 8", ["min-over-max"]),
        ("-np 3", []),
        ("-np 4", ["many-slots"]),
        ("--mmproj p.gguf", ["projector"]),
        ("-ctkd q8_0 -ctvd q4_0", ["draft-cache", "draft-cache"]),
        ("--seed -5 --temp 0", []),
    ],
)
def test_values_and_company_of_a_draft(arguments, expected):
    assert found(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--spec-draft-n-max 4", ["no-speculation"]),
        ("--spec-draft-n-max 4 $MORE", []),
        ("--spec-type draft-simple", ["draft-missing"]),
        ("--spec-type draft-simple $MORE", []),
        ("--spec-type $TYPE -md d.gguf", []),
        ("--spec-type draft-mtp", []),
        ("--spec-type none -md d.gguf", ["draft-ignored"]),
        ("--spec-type ngram-mod --spec-ngram-mod-n-max 16", ["min-over-max"]),
        ("--spec-type ngram-mod --spec-ngram-mod-n-match 0", ["out-of-range"]),
        ("--spec-type ngram-mod -np 8 --lora a", ["many-slots"]),
        ("--spec-type ngram-mod,ngram-mood", ["unknown-type"]),
        ("--spec-type 'ngram-mod, ngram-cache'", ["bad-value"]),
        ("--spec-type draft-mtp-adaptive", ["no-such-type"]),
        ("-np 8 --lora a --mmproj p", []),
    ],
)
def test_kinds_of_speculation(arguments, expected):
    assert found(arguments, START) == expected


def test_a_variable_and_its_flag_are_one_too_many():
    mended = lint_command(f"LLAMA_ARG_SPEC_DRAFT_N_MAX=4 {DRAFT} --spec-draft-n-max 8", NEW)
    assert codes(mended) == ["given-twice"]


def test_a_misspelt_flag_is_an_error_where_the_help_is_known_and_a_warning_else():
    line = f"{DRAFT} --spec-draft-nmax 4"
    known = lint_command(line, Wish(help_text=help_like(bundled_table("new"))))
    guessed = lint_command(line, NEW)
    for mended in (known, guessed):
        (finding,) = mended.findings
        assert (finding.code, finding.mended) == ("unknown-flag", False)
        assert "--spec-draft-n-max" in finding.remedy
    assert (known.findings[0].severity, guessed.findings[0].severity) == ("error", "warning")


def test_a_misspelt_variable_is_told():
    (finding,) = lint_command(f"LLAMA_ARG_SPEC_DRAFT_NMAX=4 {DRAFT}", NEW).findings
    assert (finding.code, finding.severity) == ("unknown-variable", "silent")


def test_what_no_table_knows_is_left_to_the_build():
    assert found("--brand-new-thing 4") == []
    help_text = help_like(bundled_table("new"))
    assert found("--brand-new-thing 4", wish=Wish(help_text=help_text)) == ["unknown-flag"]


def test_bare_flash_attention_is_right_in_old_builds():
    assert found("-fa", f"{START} -md d.gguf", OLD) == []


def test_a_help_text_is_read_as_its_build_meant_it():
    for name in ("new", "between", "old", "ik"):
        table = bundled_table(name)
        read = parse_help(help_like(table), title=name)
        assert [flag.names for flag in read.flags] == [flag.names for flag in table.flags]
        assert [len(flag.values) for flag in read.flags] == [
            len(flag.values) for flag in table.flags
        ]
        assert [(flag.env, flag.default, flag.stub) for flag in read.flags] == [
            (flag.env, flag.default, flag.stub) for flag in table.flags
        ]


def test_a_text_that_is_no_help_is_refused():
    with pytest.raises(InputError, match="not the help of a llama-server"):
        lint_command(DRAFT, Wish(help_text="usage: make [options]", help_title="x.txt"))


def test_range_and_fork_together_are_refused():
    with pytest.raises(InputError, match="--flavour"):
        lint_command(DRAFT, Wish(build="old", flavour="ik_llama.cpp"))


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("LLAMA_ARG_SPEC_DRAFT_N_MAX=many", ["bad-value"]),
        ("LLAMA_ARG_SPEC_DRAFT_N_MAX=8", []),
        ("LLAMA_ARG_N_GPU_LAYERS_DRAFT=all", []),
        ("LLAMA_ARG_FLASH_ATTN=maybe", ["bad-value"]),
        ("LLAMA_ARG_FLASH_ATTN=on", []),
        ("LLAMA_ARG_SPEC_DRAFT_P_MIN=.5", []),
        ("LLAMA_ARG_MMPROJ=p.gguf", ["projector"]),
    ],
)
def test_values_of_variables(variable, expected):
    assert codes(lint_command(f"{variable} {DRAFT}", NEW)) == expected


def test_an_old_type_in_a_variable_is_mended_in_place():
    mended = lint_command("LLAMA_ARG_SPEC_TYPE=mtp llama-server -m t.gguf --draft-p-min 0", NEW)
    assert mended.text == "LLAMA_ARG_SPEC_TYPE=draft-mtp llama-server -m t.gguf --draft-p-min 0"
    quoted = lint_command("LLAMA_ARG_SPEC_TYPE='mtp' llama-server -m t.gguf", NEW)
    assert quoted.text == "llama-server -m t.gguf --spec-type draft-mtp"


def test_an_old_type_in_a_variable_stops_the_server_even_beside_the_flag():
    mended = lint_command(f"LLAMA_ARG_SPEC_TYPE=mtp {DRAFT}", NEW)
    assert (mended.text, codes(mended)) == (DRAFT, ["unknown-type"])


def test_blanks_between_types_are_taken_out():
    mended = lint_command(f"{START} --spec-type 'ngram-mod, ngram-cache'", NEW)
    assert mended.text == f"{START} --spec-type ngram-mod,ngram-cache"


@pytest.mark.parametrize(
    ("wish", "text"),
    [(NEW, "--spec-type draft-mtp"), (BETWEEN, "--spec-type mtp"), (OLD, "-mtp"), (IK, "-mtp")],
)
def test_the_mtp_switch_in_every_build(wish, text):
    mended = lint_command(f"{START} -mtp", wish)
    assert mended.text == f"{START} {text}"
    assert ("unknown-flag" in codes(mended)) == (wish is OLD)
