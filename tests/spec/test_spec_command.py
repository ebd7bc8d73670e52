"""The command of a plan: the words of the build that is to run it, new or old."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from spec_models import draft, model, question

from vedette.errors import FileError, InputError
from vedette.spec.command import Build, command_line, current_build, parse_help, read_build
from vedette.spec.memory import Setup
from vedette.spec.plan import make_plan

NEW_HELP = """\
----- common params -----

-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM
                                        (env: LLAMA_ARG_N_GPU_LAYERS)
--spec-draft-n-max N                    number of tokens to draft (default: 3)
--spec-draft-model, -md, --model-draft FNAME
                                        draft model for speculative decoding
--spec-draft-ngl, -ngld, --gpu-layers-draft N
                                        layers of the draft
--spec-draft-type-k, -ctkd TYPE         cache of the draft
--spec-type none,draft-simple,draft-mtp,ngram-simple
                                        types of speculative decoding (default: none)
--spec-ngram-simple-size-m N            length of draft m-gram
--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max
"""
OLD_HELP = """\
-ngl,  --gpu-layers, --n-gpu-layers N   number of layers to store in VRAM
-md,   --model-draft FNAME              draft model for speculative decoding
-ngld, --gpu-layers-draft N             layers of the draft
--draft-max, --draft, --draft-n N       number of tokens to draft (default: 16)
"""


def words_of(asked, build: Build, *, projector: str | None = None) -> list[str]:
    plan = make_plan(asked, unsupported=build.unsupported())
    return shlex.split(command_line(asked, plan.chosen, build, projector=projector))


def after(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


@pytest.fixture
def with_draft():
    return question(model(), draft(), acceptance=0.9)


def test_a_draft_in_the_new_words(with_draft):
    words = words_of(with_draft, current_build())
    assert words[0] == "llama-server"
    assert after(words, "--spec-type") == "draft-simple"
    assert after(words, "--spec-draft-model") == "/models/0.8b.gguf"
    assert after(words, "--spec-draft-ngl") == "99"
    assert int(after(words, "--spec-draft-n-max")) >= 1
    assert (after(words, "-c"), after(words, "-np"), after(words, "-ngl")) == ("4096", "1", "65")


def test_a_draft_in_the_old_words(with_draft):
    words = words_of(with_draft, parse_help(OLD_HELP))
    assert after(words, "-md") == "/models/0.8b.gguf"
    assert "--draft-max" in words
    assert "-ngld" in words
    assert not any(word.startswith("--spec") for word in words)


def test_help_is_read_without_its_stubs():
    build = parse_help(NEW_HELP)
    assert build.has("--spec-draft-model")
    assert build.has("-ngl")
    assert not build.has("--draft-max")
    assert {"draft-simple", "draft-mtp", "ngram-simple"} <= build.types
    assert build.unsupported() == {}


def test_an_old_build_refuses_what_it_has_not():
    assert set(parse_help(OLD_HELP).unsupported()) == {"draft-mtp", "ngram-simple"}


def test_a_head_and_n_grams_have_their_own_words():
    head = words_of(question(model(head_bytes=260_000_000)), current_build())
    assert after(head, "--spec-type") == "draft-mtp"
    assert "--spec-draft-model" not in head
    copies = words_of(question(model(), copied=0.8), current_build())
    assert after(copies, "--spec-type") == "ngram-simple"
    assert "--spec-ngram-simple-size-m" in copies


def test_off_is_said_in_so_many_words():
    words = words_of(question(model()), current_build())
    assert after(words, "--spec-type") == "none"


def test_settings_go_along(with_draft):
    setup = Setup(
        context_tokens=2048, sequences=3, key_type="q8_0", value_type="q8_0", batch_tokens=256
    )
    asked = replace(
        with_draft, setup=setup, draft_key_type="q8_0", draft_value_type="q8_0", acceptance=1.0
    )
    words = words_of(asked, current_build(), projector="/models/mm proj.gguf")
    assert (after(words, "-c"), after(words, "-np")) == ("6144", "3")
    assert (after(words, "-ctk"), after(words, "-fa"), after(words, "-ub")) == ("q8_0", "on", "256")
    assert after(words, "--mmproj") == "/models/mm proj.gguf"


def test_a_name_on_hugging_face_is_given_as_one():
    remote = replace(model(), where="hf:some/repo:Q4_K_M", is_local=False)
    words = words_of(question(remote), current_build())
    assert after(words, "-hf") == "some/repo:Q4_K_M"


def test_a_build_is_asked_or_read(tmp_path):
    text = tmp_path / "help.txt"
    text.write_text(NEW_HELP)
    program = tmp_path / "llama-server"
    program.write_text(f"#!/bin/sh\ncat {text}\n")
    program.chmod(0o755)
    assert read_build(str(text)) == read_build(str(program)) == parse_help(NEW_HELP)
    with pytest.raises(FileError, match="there is no file"):
        read_build(str(tmp_path / "nothing"))
    (tmp_path / "other").write_text("usage: cat [OPTION]")
    with pytest.raises(InputError, match="does not print the help"):
        read_build(str(tmp_path / "other"))
