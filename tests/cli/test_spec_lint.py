"""`vedette spec lint`: what it prints, its exit codes, and files changed in place."""

from __future__ import annotations

import json
import os
import stat

import pytest

from vedette.cli.main import run
from vedette.errors import FileError
from vedette.spec.lint import write_mended

WRONG = "llama-server -m t.gguf -md d.gguf --draft-max 8 --draft-p-min 0.5"
MENDED = (
    "llama-server -m t.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 8 "
    "--draft-p-min 0.5"
)
RIGHT = "llama-server -m t.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 8"
HELP = "".join(f"--flag-{n} N                              x\n" for n in range(30))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A folder of its own, and no llama-server on the path unless a test puts one there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_a_wrong_line_is_printed_mended_with_a_reason_for_each_change(capsys):
    assert run(["spec", "lint", WRONG]) == 1
    out, err = capsys.readouterr()
    assert out.endswith(f"\n{MENDED}\n")
    assert "command:1:24: silent: the draft model is loaded and silently ignored" in out
    assert "command:1:35: error: --draft-max" in out
    assert "2 findings, 2 mended (held against llama.cpp since 2026-05-12)" in err


def test_a_right_line_says_so_and_nothing_else(capsys):
    assert run(["spec", "lint", RIGHT]) == 0
    out, err = capsys.readouterr()
    assert (out, "all right" in err) == ("", True)


def test_json_has_findings_commands_and_the_text(capsys):
    assert run(["spec", "lint", WRONG, "--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["text"] == MENDED
    assert result["commands"][0]["arguments"][:2] == ["-m", "t.gguf"]
    assert result["commands"][0]["complete"] is True
    assert {each["code"] for each in result["findings"]} == {"draft-ignored", "renamed-flag"}
    assert result["findings"][0]["place"] == {"file": "", "line": 1, "column": 24}


def test_fix_changes_the_file_keeps_its_mode_and_leaves_nothing_beside(tmp_path, capsys):
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\n{WRONG}  # draft\n")
    script.chmod(0o750)
    assert run(["spec", "lint", "run.sh", "--fix"]) == 1
    assert script.read_text() == f"#!/bin/sh\n{MENDED}  # draft\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert os.listdir(tmp_path) == ["run.sh"]
    assert run(["spec", "lint", "run.sh", "--fix"]) == 0


def test_without_fix_a_file_is_not_touched(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text(WRONG)
    assert run(["spec", "lint", "run.sh"]) == 1
    assert script.read_text() == WRONG


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.sh").write_text(WRONG)
    (tmp_path / "link.sh").symlink_to("real.sh")
    assert run(["spec", "lint", "link.sh", "--fix"]) == 1
    assert (tmp_path / "link.sh").is_symlink()
    assert (tmp_path / "real.sh").read_text() == MENDED


def test_a_file_that_changed_meanwhile_is_not_written_over(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("other")
    with pytest.raises(FileError, match="was changed"):
        write_mended(script, WRONG, MENDED)
    assert script.read_text() == "other"


def test_stdin_is_read(capsys, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("[x]\nmd = d\nspec-type = draft\n"))
    assert run(["spec", "lint", "-", "--kind", "ini"]) == 1
    assert "spec-type = draft-simple" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "nothing to look at"),
        (["nothing.sh"], "neither a file nor a command line"),
        (["x.sh", "--fixx"], "--fixx"),
        (["ls -l"], "calls no llama-server"),
        ([WRONG, "--fix"], "--fix changes files"),
        (["llama-server -m 'a.gguf"], "a quote or backslash at its end is left open"),
        ([RIGHT, "--kind", "systemd"], "--kind systemd is for files"),
        (["-", "--fix"], "stdin cannot be changed in place"),
        ([WRONG, "--help-file", "none.txt"], "cannot read none.txt"),
        ([WRONG, "--help-file", "help.txt"], "not the help of a llama-server"),
        ([WRONG, "--help-file", "help.txt", "--build", "old"], "give one of them"),
        ([WRONG, "--build", "old", "--flavour", "ik_llama.cpp"], "give one of them"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(arguments, reason, tmp_path, capsys):
    (tmp_path / "help.txt").write_text(HELP)
    assert run(["spec", "lint", *arguments]) == 2
    err = capsys.readouterr().err
    assert reason in err
    assert err.count("\n") == 1


def test_the_build_and_the_fork_can_be_named(capsys):
    assert run(["spec", "lint", RIGHT, "--build", "old"]) == 1
    assert "--draft-max 8" in capsys.readouterr().out
    line = "llama-server -m t.gguf -mtp --draft-max 4"
    assert run(["spec", "lint", line, "--flavour", "ik_llama.cpp"]) == 0


def test_old_defaults_are_written_out_on_request(capsys):
    assert run(["spec", "lint", "llama-server -m t -md d", "--keep-behaviour"]) == 1
    assert "--spec-draft-n-max 16 --spec-draft-p-min 0.75" in capsys.readouterr().out


def program(tmp_path, name: str, body: str):
    path = tmp_path / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}")
    path.chmod(0o755)
    return path


def test_the_program_that_a_command_names_is_asked_for_its_help_and_nothing_else(tmp_path, capsys):
    heads = ["-m, --model FNAME", "--draft-max N", "-md, --model-draft FNAME"]
    help_text = "".join(f"{head:<39} x\n" for head in heads) + HELP
    program(
        tmp_path, "llama-server", f'echo "$@" >> {tmp_path}/calls\ncat <<EOF\n{help_text}\nEOF\n'
    )
    os.environ["PATH"] += ":/bin:/usr/bin"
    assert run(["spec", "lint", "llama-server -m t -md d --draft-max 8"]) == 0
    assert "bin/llama-server --help" in capsys.readouterr().err
    assert (tmp_path / "calls").read_text() == "--help\n"
    assert run(["spec", "lint", "llama-server -m t -md d --draft-max 8", "--no-run"]) == 1
    assert (tmp_path / "calls").read_text() == "--help\n"


def test_a_program_that_does_not_answer_is_told_and_the_table_used(tmp_path, capsys):
    program(tmp_path, "llama-server", "exit 3\n")
    assert run(["spec", "lint", RIGHT]) == 0
    assert "its own help is not known" in capsys.readouterr().err


def test_another_program_is_never_run(tmp_path):
    path = program(tmp_path, "server", f"touch {tmp_path}/ran\n")
    run(["spec", "lint", f"{path} -m t.gguf --draft-max 8"])
    assert not (tmp_path / "ran").exists()
