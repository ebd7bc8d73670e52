"""`vedette spec lint`: command lines, scripts, presets, compose files and units looked through."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vedette.cli.console import note, print_json
from vedette.cli.job import PathOrStdin
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.spec.lint import Kind, Mended, Wish

EXIT_FINDINGS = 1
_STDIN = "-"


def lint(
    *targets: PathOrStdin,
    help_file: Path | None = None,
    build: Literal["old", "between", "new"] | None = None,
    flavour: Literal["llama.cpp", "ik_llama.cpp"] | None = None,
    no_run: bool = False,
    kind: Literal["command", "shell", "ini", "compose", "systemd"] | None = None,
    keep_behaviour: bool = False,
    fix: bool = False,
    json: bool = False,
) -> int:
    """Find what is wrong in llama-server commands, and print them mended.

    Exit code 0 where nothing is wrong, 1 with findings, 2 where it could not be told.

    Parameters
    ----------
    targets
        A command line as one argument ('llama-server -m ...'), files, or - for stdin: shell
        scripts, INI presets of the router, compose files, systemd units.
    help_file
        What your build's --help prints, saved in a file. It decides what is known.
    build
        Where there is no help to ask: builds of llama.cpp before 2026-04-26 (old), from there to
        2026-05-12 (between), or since (new, the default).
    flavour
        Whose flags they are; a program or image of ik_llama.cpp is known by its path.
    no_run
        Do not run the llama-server that a command names; else it is run with --help, and with
        nothing else, if it is on this machine.
    kind
        What the files are, if their names and contents do not tell.
    keep_behaviour
        Write out the old defaults where they changed without a word.
    fix
        Change the files in place; only what is mended, all at once.
    json
        One JSON object, for machines.
    """
    if not targets:
        raise InputError("nothing to look at", hint="give 'llama-server ...' or files")
    _refuse_unknown_options(targets)
    wish = _wish(help_file, build, flavour, run=not no_run)
    results = [
        _look(target, kind, wish, keep_behaviour=keep_behaviour, fix=fix) for target in targets
    ]
    if json:
        print_json({"results": [_as_json(name, mended) for name, mended in results]})
    else:
        for name, mended in results:
            _print(name, mended, fix=fix)
    return EXIT_FINDINGS if any(mended.findings for _, mended in results) else 0


def _wish(
    help_file: Path | None,
    build: Literal["old", "between", "new"] | None,
    flavour: Literal["llama.cpp", "ik_llama.cpp"] | None,
    *,
    run: bool,
) -> Wish:
    from vedette.spec.lint import Wish
    from vedette.spec.lint.linter import read_text

    if help_file is not None and (build or flavour):
        raise InputError(
            "--help-file says what the build knows; --build and --flavour guess it",
            hint="give one of them",
        )
    return Wish(
        help_text=read_text(help_file) if help_file else None,
        help_title=str(help_file or ""),
        build=build,
        flavour=flavour,
        run_program=run,
    )


def _look(
    target: str, kind: Kind | None, wish: Wish, *, keep_behaviour: bool, fix: bool
) -> tuple[str, Mended]:
    """One target's name and what was found; with `fix` a file is written."""
    from vedette.spec.lint import kind_of, lint_command, lint_text, write_mended
    from vedette.spec.lint.linter import read_text

    path = Path(target)
    if target == _STDIN:
        if fix:
            raise InputError("stdin cannot be changed in place", hint="name the file")
        text, name = sys.stdin.read(), "stdin"
    elif path.is_file():
        text, name = read_text(path), target
    elif kind in (None, "command") and _has_blanks(target):
        if fix:
            raise InputError("--fix changes files", hint="a command line is printed mended")
        return "", lint_command(target, wish, keep_behaviour=keep_behaviour)
    elif _has_blanks(target) and not path.exists():
        raise InputError(
            f"--kind {kind} is for files, and {target!r} is none", hint="leave --kind out"
        )
    else:
        raise InputError(
            f"{target!r} is neither a file nor a command line",
            hint="quote a whole command: 'llama-server -m ...'",
        )
    mended = lint_text(
        text, kind or kind_of(text, path.name), wish, file=name, keep_behaviour=keep_behaviour
    )
    if fix and mended.text != text:
        write_mended(path, text, mended.text)
    return name, mended


def _refuse_unknown_options(targets: Sequence[str]) -> None:
    """A target may begin with a dash, so options that there are not arrive as targets."""
    for target in targets:
        if target.startswith("-") and target != _STDIN and not _has_blanks(target):
            names = [f"--{name.replace('_', '-')}" for name in signature(lint).parameters]
            near = get_close_matches(target, names, 1)
            raise InputError(
                f"unknown option {target!r}",
                hint=f"did you mean {near[0]}?" if near else 'see "vedette spec lint --help"',
            )


def _has_blanks(target: str) -> bool:
    """Whether it can be a command line, which is more than one word."""
    return any(map(str.isspace, target))


def _as_json(name: str, mended: Mended) -> dict[str, object]:
    return {
        "file": name or None,
        "findings": mended.findings,
        "commands": mended.commands,
        "text": mended.text,
    }


def _print(name: str, mended: Mended, *, fix: bool) -> None:
    for finding in mended.findings:
        print(f"{finding.place}: {finding.severity}: {finding.message} [{finding.code}]")
        print(f"    {'mended' if finding.mended else 'to do'}: {finding.remedy}")
    for command in mended.commands:
        if command.after != command.before and not fix:
            print(f"\n{command.after}")
    n_mended = sum(finding.mended for finding in mended.findings)
    judges = ", ".join(dict.fromkeys(command.judged_by for command in mended.commands))
    count = len(mended.findings)
    plural = "" if count == 1 else "s"
    found = f"{count} finding{plural}, {n_mended} mended" if count else "all right"
    note(f"{name or 'command'}: {found} (held against {judges})")
