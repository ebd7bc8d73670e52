"""Scripts, presets, compose files and units: found, mended where they stand, else untouched."""

from __future__ import annotations

import difflib
from contextlib import suppress
from random import Random
from textwrap import dedent

import pytest
from lint_support import NEW, codes

from vedette.errors import InputError
from vedette.spec.lint import kind_of, lint_command, lint_text

SCRIPT = r"""
#!/bin/bash
# start the server; don't touch
export LLAMA_ARG_DRAFT_MIN=4   # drafts
MODEL="${1:-/models/big.gguf}"
ARGS=(
  -m "$MODEL"          # target
  --draft-max 5 -cd 4096
)
EXTRA="--draft-p-min 0.6 -ngld 99"
if true; then
  exec ./llama-server "${ARGS[@]}" $EXTRA \
    -md '/models/small one.gguf' \
    --port 8080 > log.txt 2>&1 &
fi
bash -c "llama-server -m a.gguf --draft-model b.gguf --draft 4 --draft-p-min 0; echo it's done"
docker run --rm -e LLAMA_ARG_MODEL_DRAFT=/m/d.gguf -v ./models:/m \
  ghcr.io/ggml-org/llama.cpp:server -m /m/big.gguf --draft 8 --draft-p-min 0 \
  -cd 1024 \
  --port 80
cp build/bin/llama-server /usr/local/bin
pkill llama-server
"""
SCRIPT_CHANGES = """
-export LLAMA_ARG_DRAFT_MIN=4   # drafts
+export LLAMA_ARG_SPEC_DRAFT_N_MIN=4   # drafts
-  --draft-max 5 -cd 4096
+  --spec-draft-n-max 5
-    -md '/models/small one.gguf' \\
+    -md '/models/small one.gguf' --spec-type draft-simple \\
-bash -c "llama-server -m a.gguf --draft-model b.gguf --draft 4 --draft-p-min 0; echo it's done"
-docker run --rm -e LLAMA_ARG_MODEL_DRAFT=/m/d.gguf -v ./models:/m \\
-  ghcr.io/ggml-org/llama.cpp:server -m /m/big.gguf --draft 8 --draft-p-min 0 \\
-  -cd 1024 \\
-  --port 80
+bash -c "llama-server -m a.gguf --spec-draft-model b.gguf --spec-type draft-simple \
--spec-draft-n-max 4 --draft-p-min 0; echo it's done"
+docker run --rm -e LLAMA_ARG_SPEC_DRAFT_MODEL=/m/d.gguf -v ./models:/m \\
+  ghcr.io/ggml-org/llama.cpp:server -m /m/big.gguf --spec-draft-n-max 8 --draft-p-min 0 \\
+  --port 80 --spec-type draft-simple
"""
PRESET = """
version = 1
; all models
[*]
c = 8192
fa = on

[big]
model = /m/big.gguf
md = /m/small.gguf
draft-max = 8
cd = 4096
; keep
load-on-startup = true
draft-min=2

[ngram]
m = /m/b.gguf
spec-type = ngram-mod
draft-max = 16
LLAMA_ARG_DRAFT_P_MIN = 0.5
"""
PRESET_CHANGES = """
-draft-max = 8
-cd = 4096
+spec-type = draft-simple
+spec-draft-n-max = 8
-draft-min=2
+spec-draft-n-min=2
-draft-max = 16
-LLAMA_ARG_DRAFT_P_MIN = 0.5
+spec-ngram-mod-n-max = 16
+spec-ngram-mod-n-min = 0
+spec-draft-p-min = 0.5
"""
COMPOSE = """
services:
  text:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: >
      -m /m/big.gguf
      -md /m/small.gguf
      --draft-max 16 -cd 4096
      --port 8080
    environment:
      - LLAMA_ARG_DRAFT_P_MIN=0.5
  block:
    image: ghcr.io/ggml-org/llama.cpp:server
    # a list
    command:
      - "-m"
      - /m/big.gguf
      - --model-draft   # the draft
      - /m/small.gguf
      - --draft-max
      - "16"
      - -cd
      - "4096"
  flow:
    image: ghcr.io/ggml-org/llama.cpp:server
    command: ["-m", "/m/big.gguf", "-md", "/m/small.gguf", "-cd", "4096", "--draft-min 4"]
  variables:
    image: ghcr.io/ggml-org/llama.cpp:server
    environment:
      LLAMA_ARG_MODEL: /m/big.gguf
      LLAMA_ARG_MODEL_DRAFT: /m/small.gguf
      LLAMA_ARG_CTX_SIZE_DRAFT: 4096
      LLAMA_ARG_DRAFT_MAX: "16"
    ports: ["80:80"]
  shell:
    image: mine
    entrypoint: ["/bin/sh", "-c", "llama-server -m a.gguf -md b.gguf --draft 5"]
  other:
    image: redis
    command: ["--save", "60"]
"""
COMPOSE_CHANGES = """
-      -md /m/small.gguf
-      --draft-max 16 -cd 4096
+      -md /m/small.gguf --spec-type draft-simple
+      --spec-draft-n-max 16
-      - LLAMA_ARG_DRAFT_P_MIN=0.5
+      - LLAMA_ARG_SPEC_DRAFT_P_MIN=0.5
-      - --draft-max
+      - --spec-type
+      - draft-simple
+      - --spec-draft-n-max
-      - -cd
-      - "4096"
-    command: ["-m", "/m/big.gguf", "-md", "/m/small.gguf", "-cd", "4096", "--draft-min 4"]
+    command: ["-m", "/m/big.gguf", "-md", "/m/small.gguf", "--spec-type", "draft-simple", \
"--spec-draft-n-min", "4"]
-      LLAMA_ARG_MODEL_DRAFT: /m/small.gguf
-      LLAMA_ARG_CTX_SIZE_DRAFT: 4096
-      LLAMA_ARG_DRAFT_MAX: "16"
+      LLAMA_ARG_SPEC_DRAFT_MODEL: /m/small.gguf
+      LLAMA_ARG_SPEC_DRAFT_N_MAX: "16"
+      LLAMA_ARG_SPEC_TYPE: draft-simple
-    entrypoint: ["/bin/sh", "-c", "llama-server -m a.gguf -md b.gguf --draft 5"]
+    entrypoint: ["/bin/sh", "-c", "llama-server -m a.gguf -md b.gguf --spec-type draft-simple \
--spec-draft-n-max 5"]
"""
UNIT = r"""
[Unit]
Description=llama-server with a draft, it's fast
[Service]
Environment="LLAMA_ARG_DRAFT_MIN=4" "FOO=bar"
Environment=LLAMA_ARG_CTX_SIZE_DRAFT=4096
ExecStartPre=/bin/true
ExecStart=-/usr/local/bin/llama-server \
    -m /m/big.gguf -md /m/%i.gguf \
    # a comment between
    --draft-max 16 \
    -cd 4096
Restart=always
"""
UNIT_CHANGES = """
-Environment="LLAMA_ARG_DRAFT_MIN=4" "FOO=bar"
-Environment=LLAMA_ARG_CTX_SIZE_DRAFT=4096
+Environment="LLAMA_ARG_SPEC_DRAFT_N_MIN=4" "FOO=bar"
-    -m /m/big.gguf -md /m/%i.gguf \\
+    -m /m/big.gguf -md /m/%i.gguf --spec-type draft-simple \\
-    --draft-max 16 \\
-    -cd 4096
+    --spec-draft-n-max 16
"""
TEXTS = {
    "shell": (SCRIPT, SCRIPT_CHANGES),
    "ini": (PRESET, PRESET_CHANGES),
    "compose": (COMPOSE, COMPOSE_CHANGES),
    "systemd": (UNIT, UNIT_CHANGES),
}


def changes(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    kept = [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    return "\n".join(kept)


@pytest.mark.parametrize("kind", TEXTS)
def test_only_what_is_wrong_is_changed(kind):
    text, expected = TEXTS[kind]
    mended = lint_text(text.lstrip("\n"), kind, NEW)
    assert changes(text.lstrip("\n"), mended.text) == expected.strip("\n")
    assert all(command.complete for command in mended.commands)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_mended_text_stays_as_it_is(kind):
    once = lint_text(TEXTS[kind][0], kind, NEW).text
    twice = lint_text(once, kind, NEW)
    assert twice.text == once
    assert not any(each.mended for each in twice.findings)


@pytest.mark.parametrize("kind", TEXTS)
def test_line_ends_of_windows_survive(kind):
    text = TEXTS[kind][0].lstrip("\n")
    mended = lint_text(text.replace("\n", "\r\n"), kind, NEW).text
    assert "\n" not in mended.replace("\r\n", "")
    assert mended.replace("\r\n", "\n") == lint_text(text, kind, NEW).text


@pytest.mark.parametrize("kind", TEXTS)
def test_the_kind_is_told_from_the_content(kind):
    assert kind_of(TEXTS[kind][0]) == kind


def test_findings_know_their_line_and_column():
    mended = lint_text(UNIT.lstrip("\n"), "systemd", NEW, file="llama.service")
    places = {each.code: str(each.place) for each in mended.findings}
    assert places["renamed-flag"] == "llama.service:10:5"
    assert places["removed-flag"] == "llama.service:11:5"


def test_a_services_variables_reach_its_report():
    mended = lint_text(COMPOSE, "compose", NEW)
    assert dict(mended.commands[3].environment) == {
        "LLAMA_ARG_MODEL": "/m/big.gguf",
        "LLAMA_ARG_SPEC_DRAFT_MODEL": "/m/small.gguf",
        "LLAMA_ARG_SPEC_DRAFT_N_MAX": "16",
        "LLAMA_ARG_SPEC_TYPE": "draft-simple",
    }


def test_a_section_has_what_all_sections_have():
    text = "[*]\nspec-type = draft-simple\n[big]\nm = b.gguf\nmd = s.gguf\n"
    assert lint_text(text, "ini", NEW).findings == ()


def test_a_variable_that_may_hold_the_type_is_not_written_over():
    command = 'llama-server -m b.gguf -md s.gguf $MORE --draft-p-min 0 "$@"'
    mended = lint_command(command, NEW)
    assert mended.text == command
    (finding,) = [each for each in mended.findings if each.code == "draft-ignored"]
    assert not finding.mended
    assert "$MORE" in finding.message


def test_two_commands_that_want_different_things_of_one_variable_are_told():
    text = dedent("""\
        LIMITS="--draft-max 64"
        llama-server -m a.gguf --spec-type ngram-mod $LIMITS
        llama-server -m a.gguf --spec-type ngram-simple $LIMITS
    """)
    mended = lint_text(text, "shell", NEW)
    assert mended.text.splitlines()[0] == 'LIMITS="--spec-ngram-mod-n-max 64"'
    assert [command.complete for command in mended.commands] == [True, False]


def test_what_only_names_the_program_is_no_call_of_it():
    text = "cp build/bin/llama-server /bin\nwhich llama-server\necho 'llama-server -m x'\n"
    with pytest.raises(InputError, match="calls no llama-server"):
        lint_text(text, "shell", NEW)


@pytest.mark.parametrize(
    "start",
    ["sudo -u llama ", "nohup nice -n 5 ", "A=1 B='c d' ", "env A=1 ", "$ ", "exec "],
)
def test_what_stands_before_the_program_is_left_alone(start):
    command = f"{start}llama-server -m t.gguf --spec-type ngram-simple --draft-max 9"
    assert lint_command(command, NEW).text == command.replace("--draft-max", "--spec-draft-n-max")


def test_arguments_alone_are_a_command_line():
    mended = lint_command("-m t.gguf --spec-type ngram-simple --draft-max 9", NEW)
    assert mended.text == "-m t.gguf --spec-type ngram-simple --spec-draft-n-max 9"


def test_a_value_with_blanks_is_quoted_where_it_is_written_anew():
    mended = lint_command("llama-server -m t.gguf '--draft-model=my draft.gguf' --spec-type x", NEW)
    assert "--spec-draft-model 'my draft.gguf'" in mended.text


def test_text_that_is_no_yaml_is_refused_with_its_line():
    with pytest.raises(InputError, match=r"no YAML \(line \d"):
        lint_text("services:\n  a: [1\n", "compose", NEW)


def test_a_quoted_command_with_escapes_is_refused_and_not_guessed():
    text = 'services:\n  a:\n    image: llama.cpp:x\n    command: "-m a --alias \\"b c\\""\n'
    with pytest.raises(InputError, match="line 4"):
        lint_text(text, "compose", NEW)


def test_the_first_of_two_is_taken_out():
    mended = lint_command("llama-server -m a -c 8 -ngl 1 --ctx-size 16", NEW)
    assert mended.text == "llama-server -m a -ngl 1 --ctx-size 16"
    assert codes(mended) == ["given-twice"]


def test_an_apostrophe_in_a_comment_or_a_heredoc_ends_nothing():
    text = "cat <<EOF\nit's here\nEOF\n# don't\nllama-server -m a -md b --draft-max 4\n"
    assert "renamed-flag" in codes(lint_text(text, "shell", NEW))


def test_a_variable_that_is_used_twice_in_one_command_breaks_nothing():
    text = 'A=(-md d --draft-max 4 -cd 8)\nllama-server -m t "${A[@]}" "${A[@]}"\n'
    mended = lint_text(text, "shell", NEW)
    assert "renamed-flag" in codes(mended)


def test_strange_texts_are_refused_or_read_and_end_nothing():
    """Texts of each kind with pieces lost, doubled and put in, the same ones each time."""
    pieces = [
        "'",
        '"',
        "\\",
        "\n",
        "$",
        "${X}",
        "(",
        ")",
        "#",
        " --draft-max 8",
        "[",
        ":",
        "- ",
        "{",
    ]
    random = Random(5)
    for kind, (text, _) in TEXTS.items():
        for _ in range(60):
            strange = text
            for _ in range(random.randint(1, 4)):
                at = random.randrange(len(strange))
                to = min(len(strange), at + random.randint(0, 40))
                new = random.choice([*pieces, "", strange[at:to] * 2])
                strange = strange[:at] + new + strange[to:]
            with suppress(InputError):
                lint_text(strange, kind, NEW)


def test_a_variable_that_another_command_needs_keeps_what_one_gives_twice():
    text = "A='-c 8'\nllama-server -m t $A -c 16\nllama-server -m t $A\n"
    mended = lint_text(text, "shell", NEW)
    assert (mended.text, codes(mended)) == (text, ["given-twice"])
