"""What the tests of the linter share: a build by name, a real server, codes of findings."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from vedette.backends.find_server import find_server
from vedette.backends.server_program import answer_of, program_environment
from vedette.errors import EngineFailed, FileError
from vedette.spec.lint import Mended, Wish
from vedette.spec.lint.flag_table import FlagTable

NEW = Wish(build="new")
OLD = Wish(build="old")
BETWEEN = Wish(build="between")
IK = Wish(flavour="ik_llama.cpp")


def codes(mended: Mended) -> list[str]:
    """The codes of all findings, sorted."""
    return sorted(finding.code for finding in mended.findings)


def real_server() -> tuple[Path, str]:
    """A llama-server of this machine and its help; the test is skipped if there is none."""
    try:
        program = find_server()
        return program, answer_of(program, "--help")
    except (FileError, EngineFailed) as reason:
        pytest.skip(str(reason))


def refusal(
    program: Path, arguments: Sequence[str], environment: Sequence[tuple[str, str]]
) -> str | None:
    """What a server's parser says against a command; None if it gets as far as loading a model.

    The model named last is not there, so that it ends at once.
    """
    done = subprocess.run(
        [program, *arguments, "--offline", "-m", "/nowhere/none.gguf"],
        env={**program_environment(program), **dict(environment)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    lines = (done.stdout + done.stderr).splitlines()
    marks = ("error while handling", "invalid argument")
    return next((line for line in lines if any(mark in line for mark in marks)), None)


def help_like(table: FlagTable, *, without: Sequence[str] = ()) -> str:
    """A help text in llama.cpp's two columns that names the flags of a table."""
    lines = ["----- common params -----", ""]
    for flag in table.flags:
        if set(flag.names) & set(without):
            continue
        head = ", ".join(flag.names) + "".join(f" {each}" for each in flag.values)
        about = "the argument has been removed" if flag.stub else "what it does"
        about += f" (default: {flag.default})" if flag.default else ""
        lines += [f"{head:<39} {about}"] if len(head) < 40 else [head, " " * 40 + about]
        if flag.env:
            lines.append(" " * 40 + f"(env: {flag.env})")
    return "\n".join(lines) + "\n"
