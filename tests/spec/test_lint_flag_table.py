"""Every row of the table of old and new flags, in both directions."""

from __future__ import annotations

import pytest
from lint_support import BETWEEN, IK, NEW, OLD, codes

from vedette.spec.lint import lint_command

DRAFT = "llama-server -m t.gguf -md d.gguf"
NEW_DRAFT = f"{DRAFT} --spec-type draft-simple"
MOD = "llama-server -m t.gguf --spec-type ngram-mod"

# flag of before, flag of since, value
RENAMED = [
    ("--draft", "--spec-draft-n-max", "16"),
    ("--draft-n", "--spec-draft-n-max", "16"),
    ("--draft-max", "--spec-draft-n-max", "16"),
    ("--draft-min", "--spec-draft-n-min", "2"),
    ("--draft-n-min", "--spec-draft-n-min", "2"),
]
MOD_RENAMED = [
    ("--draft", "--spec-ngram-mod-n-max", "64"),
    ("--draft-n", "--spec-ngram-mod-n-max", "64"),
    ("--draft-max", "--spec-ngram-mod-n-max", "64"),
    ("--draft-min", "--spec-ngram-mod-n-min", "32"),
    ("--draft-n-min", "--spec-ngram-mod-n-min", "32"),
    ("--spec-ngram-size-n", "--spec-ngram-mod-n-match", "24"),
]
NGRAM_TYPES = ("ngram-simple", "ngram-map-k", "ngram-map-k4v")
NGRAM_PARTS = ("size-n", "size-m", "min-hits")

# alias in builds since, name of since, value; in older builds the alias is the name
ALIASES = [
    ("--draft-p-min", "--spec-draft-p-min", "0.5"),
    ("--draft-p-split", "--spec-draft-p-split", "0.2"),
    ("-md", "--spec-draft-model", "d.gguf"),
    ("--model-draft", "--spec-draft-model", "d.gguf"),
    ("-hfd", "--spec-draft-hf", "a/b"),
    ("-hfrd", "--spec-draft-hf", "a/b"),
    ("--hf-repo-draft", "--spec-draft-hf", "a/b"),
    ("-ngld", "--spec-draft-ngl", "99"),
    ("--gpu-layers-draft", "--spec-draft-ngl", "99"),
    ("--n-gpu-layers-draft", "--spec-draft-ngl", "99"),
    ("-devd", "--spec-draft-device", "none"),
    ("--device-draft", "--spec-draft-device", "none"),
    ("-ctkd", "--spec-draft-type-k", "f16"),
    ("--cache-type-k-draft", "--spec-draft-type-k", "f16"),
    ("-ctvd", "--spec-draft-type-v", "f16"),
    ("--cache-type-v-draft", "--spec-draft-type-v", "f16"),
    ("-td", "--spec-draft-threads", "4"),
    ("--threads-draft", "--spec-draft-threads", "4"),
    ("-tbd", "--spec-draft-threads-batch", "4"),
    ("--threads-batch-draft", "--spec-draft-threads-batch", "4"),
    ("-Cd", "--spec-draft-cpu-mask", "ff"),
    ("--cpu-mask-draft", "--spec-draft-cpu-mask", "ff"),
    ("-Crd", "--spec-draft-cpu-range", "0-3"),
    ("-Cbd", "--spec-draft-cpu-mask-batch", "ff"),
    ("--cpu-strict-draft", "--spec-draft-cpu-strict", "1"),
    ("--prio-draft", "--spec-draft-prio", "1"),
    ("--poll-draft", "--spec-draft-poll", "1"),
    ("--cpu-strict-batch-draft", "--spec-draft-cpu-strict-batch", "1"),
    ("--prio-batch-draft", "--spec-draft-prio-batch", "1"),
    ("--poll-batch-draft", "--spec-draft-poll-batch", "1"),
    ("-otd", "--spec-draft-override-tensor", "exps=CPU"),
    ("--override-tensor-draft", "--spec-draft-override-tensor", "exps=CPU"),
    ("-cmoed", "--spec-draft-cpu-moe", ""),
    ("--cpu-moe-draft", "--spec-draft-cpu-moe", ""),
    ("-ncmoed", "--spec-draft-n-cpu-moe", "4"),
    ("--n-cpu-moe-draft", "--spec-draft-n-cpu-moe", "4"),
]
REMOVED = [
    ("-cd", "4096"),
    ("--ctx-size-draft", "4096"),
    ("--spec-draft-ctx-size", "4096"),
    ("--spec-replace", "a b"),
    ("--spec-draft-replace", "a b"),
    ("-Crbd", "0-3"),
]
# variable of before, variable of since, whether setting it aborts a server of since
VARIABLES = [
    ("LLAMA_ARG_DRAFT_MAX", "LLAMA_ARG_SPEC_DRAFT_N_MAX", True),
    ("LLAMA_ARG_DRAFT_MIN", "LLAMA_ARG_SPEC_DRAFT_N_MIN", True),
    ("LLAMA_ARG_DRAFT_P_MIN", "LLAMA_ARG_SPEC_DRAFT_P_MIN", False),
    ("LLAMA_ARG_DRAFT_P_SPLIT", "LLAMA_ARG_SPEC_DRAFT_P_SPLIT", False),
    ("LLAMA_ARG_MODEL_DRAFT", "LLAMA_ARG_SPEC_DRAFT_MODEL", False),
    ("LLAMA_ARG_HFD_REPO", "LLAMA_ARG_SPEC_DRAFT_HF_REPO", False),
    ("LLAMA_ARG_CACHE_TYPE_K_DRAFT", "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K", False),
    ("LLAMA_ARG_CACHE_TYPE_V_DRAFT", "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V", False),
    ("LLAMA_ARG_CPU_MOE_DRAFT", "LLAMA_ARG_SPEC_DRAFT_CPU_MOE", False),
    ("LLAMA_ARG_N_CPU_MOE_DRAFT", "LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE", False),
]


def value_of(variable: str) -> str:
    return "f16" if "TYPE" in variable else "1"


def text_of(command: str, wish) -> str:
    return lint_command(command, wish).text


@pytest.mark.parametrize(("before", "since", "value"), RENAMED)
def test_a_removed_name_becomes_the_draft_models(before, since, value):
    assert text_of(f"{NEW_DRAFT} {before} {value}", NEW) == f"{NEW_DRAFT} {since} {value}"


@pytest.mark.parametrize(("before", "since", "value"), MOD_RENAMED)
def test_a_removed_name_becomes_that_of_ngram_mod(before, since, value):
    mended = lint_command(f"{MOD} {before} {value}", NEW)
    assert mended.text == f"{MOD} {since} {value}"
    assert codes(mended) == ["renamed-flag"]


@pytest.mark.parametrize(("before", "since", "value"), RENAMED)
def test_the_other_way_an_old_build_gets_its_name(before, since, value):
    mended = lint_command(f"{DRAFT} {since} {value}", OLD)
    old_name = "--draft-max" if since.endswith("max") else "--draft-min"
    assert mended.text == f"{DRAFT} {old_name} {value}"
    assert "newer-flag" in codes(mended)
    assert lint_command(f"{DRAFT} {before} {value}", OLD).findings == ()


@pytest.mark.parametrize(("before", "since", "value"), MOD_RENAMED)
def test_the_other_way_for_ngram_mod(before, since, value):
    old = {
        "--spec-ngram-mod-n-max": "--draft-max",
        "--spec-ngram-mod-n-min": "--draft-min",
        "--spec-ngram-mod-n-match": "--spec-ngram-size-n",
    }[since]
    assert text_of(f"{MOD} {since} {value}", OLD) == f"{MOD} {old} {value}"
    assert lint_command(f"{MOD} {before} {value}", OLD).findings == ()


@pytest.mark.parametrize("kind", NGRAM_TYPES)
@pytest.mark.parametrize("part", NGRAM_PARTS)
def test_lengths_of_ngrams_go_to_their_type_and_back(kind, part):
    start = f"llama-server -m t.gguf --spec-type {kind}"
    before, since = f"{start} --spec-ngram-{part} 8", f"{start} --spec-{kind}-{part} 8"
    assert text_of(before, NEW) == since
    assert text_of(since, OLD) == before
    assert lint_command(since, NEW).findings == ()
    assert lint_command(before, OLD).findings == ()


def test_a_length_goes_to_each_type_that_has_it():
    start = "llama-server -m t.gguf --spec-type ngram-simple,ngram-mod"
    assert text_of(f"{start} --spec-ngram-size-n 8", NEW) == (
        f"{start} --spec-ngram-simple-size-n 8 --spec-ngram-mod-n-match 8"
    )


def test_a_length_that_no_type_has_is_taken_out():
    mended = lint_command(f"{MOD} --spec-ngram-size-m 8 --spec-ngram-min-hits 2", NEW)
    assert mended.text == MOD
    assert codes(mended) == ["removed-flag", "removed-flag"]


@pytest.mark.parametrize("kind", [*NGRAM_TYPES, "ngram-cache"])
def test_other_ngrams_pair_with_the_drafts_length(kind):
    start = f"llama-server -m t.gguf --spec-type {kind}"
    assert text_of(f"{start} --draft-max 64", NEW) == f"{start} --spec-draft-n-max 64"


def test_with_a_draft_and_ngram_mod_both_get_the_length():
    start = "llama-server -m t.gguf -md d.gguf --spec-type ngram-mod,draft-simple"
    assert text_of(f"{start} --draft-max 64", NEW) == (
        f"{start} --spec-draft-n-max 64 --spec-ngram-mod-n-max 64"
    )


@pytest.mark.parametrize(("alias", "name", "value"), ALIASES)
def test_an_alias_is_right_and_not_touched(alias, name, value):
    model = "" if name.endswith(("-model", "-hf")) else "-md d.gguf "
    for flag in (alias, name):
        command = f"llama-server -m t.gguf {model}--spec-type draft-simple {flag} {value}".strip()
        mended = lint_command(command, NEW)
        assert (mended.text, mended.findings) == (command, ())


@pytest.mark.parametrize(("alias", "name", "value"), ALIASES)
@pytest.mark.parametrize("wish", [OLD, IK], ids=["old", "ik"])
def test_an_old_build_gets_the_alias(alias, name, value, wish):
    start = "llama-server -m t.gguf"
    mended = lint_command(f"{start} {name} {value}".strip(), wish)
    command = mended.commands[0]
    assert command.complete
    assert command.arguments[2] != name
    assert lint_command(f"{start} {alias} {value}".strip(), OLD).commands[0].complete


@pytest.mark.parametrize(("flag", "value"), REMOVED)
def test_what_is_gone_is_taken_out(flag, value):
    mended = lint_command(f"{NEW_DRAFT} {flag} {value} -ngl 9", NEW)
    assert mended.text == f"{NEW_DRAFT} -ngl 9"
    assert "removed-flag" in codes(mended)


def test_the_check_rate_of_ngrams_is_taken_out():
    assert text_of(f"{MOD} --spec-ngram-check-rate 2", NEW) == MOD


@pytest.mark.parametrize("flag", ["-cd 9", "--ctx-size-draft 9", "--spec-replace a b", "-Crbd 0-1"])
def test_what_an_old_build_still_has_stays(flag):
    assert lint_command(f"{DRAFT} {flag}", OLD).findings == ()


def test_the_builds_between_have_new_names_and_the_drafts_context():
    command = f"{DRAFT} --spec-draft-n-max 8 --spec-draft-ctx-size 512 --spec-draft-replace a b"
    assert lint_command(command, BETWEEN).findings == ()
    assert text_of(f"{DRAFT} --draft-max 8", BETWEEN) == f"{DRAFT} --spec-draft-n-max 8"
    assert text_of(f"{NEW_DRAFT} --spec-draft-n-max 8", BETWEEN) == f"{DRAFT} --spec-draft-n-max 8"


@pytest.mark.parametrize(
    ("before", "since"),
    [("mtp", "draft-mtp"), ("draft", "draft-simple"), ("dflash", "draft-dflash")],
)
def test_old_values_of_the_type(before, since):
    command = (
        "llama-server -m t.gguf -md d.gguf --spec-type {} --spec-draft-n-max 4 --draft-p-min 0"
    )
    mended = lint_command(command.format(before), NEW)
    assert mended.text == command.format(since)
    assert codes(mended) == ["renamed-type"]


def test_an_old_build_needs_no_type_for_a_draft():
    assert text_of(NEW_DRAFT, OLD) == DRAFT


def test_the_builds_between_call_mtp_by_its_first_name():
    assert text_of("llama-server -m t.gguf --spec-type draft-mtp", BETWEEN) == (
        "llama-server -m t.gguf --spec-type mtp"
    )


def test_a_type_that_an_old_build_cannot_have_is_left_and_told():
    mended = lint_command("llama-server -m t.gguf --spec-type draft-mtp", OLD)
    assert "unknown-type" in codes(mended)
    assert not mended.commands[0].complete


def test_ik_llama_has_mtp_as_a_switch_and_mainline_as_a_type():
    ik, mainline = "llama-server -m t.gguf -mtp", "llama-server -m t.gguf --spec-type draft-mtp"
    assert text_of(mainline, IK) == ik
    assert text_of(ik, NEW) == mainline
    assert lint_command(f"{ik} --draft-max 4 --spec-autotune -rtr", IK).findings == ()


def test_the_fork_is_known_by_its_path():
    mended = lint_command("/opt/ik_llama.cpp/build/bin/llama-server -m t.gguf -mtp --draft-max 4")
    assert mended.findings == ()
    assert mended.commands[0].judged_by == "ik_llama.cpp"


@pytest.mark.parametrize(
    "flag",
    ["--spec-draft-sampling greedy", "--no-spec-draft-backend-sampling", "--spec-synth-len 2",
     "--spec-synth-rates 0.5,0.2"],
)  # fmt: skip
def test_new_flags_are_right_since_and_taken_out_before(flag):
    assert lint_command(f"{NEW_DRAFT} {flag}", NEW).findings == ()
    mended = lint_command(f"{DRAFT} {flag}", OLD)
    assert mended.text == DRAFT
    assert "removed-flag" in codes(mended)


@pytest.mark.parametrize(("before", "since", "aborts"), VARIABLES)
def test_variables_in_both_directions(before, since, aborts):
    value = value_of(before)
    rest = "llama-server -m t.gguf --spec-type draft-simple"
    mended = lint_command(f"{before}={value} {rest} -md d.gguf", NEW)
    found = next(each for each in mended.findings if each.code == "renamed-variable")
    assert mended.text == f"{since}={value} {rest} -md d.gguf"
    assert found.severity == ("error" if aborts else "silent")
    back = lint_command(f"{since}={value} {DRAFT}", OLD)
    assert back.text == f"{before}={value} {DRAFT}"
    assert "renamed-variable" in codes(back)


def test_variables_that_stay_and_that_go():
    command = f"LLAMA_ARG_N_GPU_LAYERS_DRAFT=9 {NEW_DRAFT}"
    assert lint_command(command, NEW).findings == ()
    mended = lint_command(f"LLAMA_ARG_CTX_SIZE_DRAFT=512 {NEW_DRAFT}", NEW)
    assert (mended.text, codes(mended)) == (NEW_DRAFT, ["removed-variable"])


def test_a_length_in_a_variable_becomes_a_flag_where_ngram_mod_has_no_variable():
    mended = lint_command(f"LLAMA_ARG_DRAFT_MAX=64 {MOD}", NEW)
    assert mended.text == f"{MOD} --spec-ngram-mod-n-max 64"


@pytest.mark.parametrize("wrong", ["--draft-model", "--spec-draft", "--speculative-model"])
def test_names_that_never_existed(wrong):
    mended = lint_command(f"llama-server -m t.gguf {wrong} d.gguf --spec-type draft-simple", NEW)
    assert mended.text == (
        "llama-server -m t.gguf --spec-draft-model d.gguf --spec-type draft-simple"
    )
    assert codes(mended) == ["no-such-flag"]


def test_changed_defaults_are_told_and_written_out_on_request():
    told = lint_command(f"{DRAFT} -ngl 9", NEW)
    assert codes(told) == ["changed-default", "changed-default", "draft-ignored"]
    kept = lint_command(f"{DRAFT} -ngl 9", NEW, keep_behaviour=True)
    assert kept.text == (f"{NEW_DRAFT} --spec-draft-n-max 16 --spec-draft-p-min 0.75 -ngl 9")
    assert lint_command(kept.text, NEW).findings == ()


def test_a_command_of_today_keeps_todays_defaults_in_an_old_build():
    kept = lint_command(NEW_DRAFT, OLD, keep_behaviour=True)
    assert kept.text == f"{DRAFT} --draft-max 3 --draft-p-min 0.00"
