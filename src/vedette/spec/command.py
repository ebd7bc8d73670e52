"""The llama-server command line of a plan, in the words of the build that is to run it."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from vedette.backends.server_program import answer_of
from vedette.errors import FileError, InputError
from vedette.spec.candidates import Candidate, Method, Question
from vedette.spec.model_file import ModelFile

_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
_REMOVED = "the argument has been removed"
_DEFAULT_BATCH_TOKENS = 512
_ENTRY = re.compile(r"^(?=-)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Build:
    """What a llama-server understands: its flags, and the values of `--spec-type`."""

    flags: frozenset[str]
    types: frozenset[str]

    def has(self, flag: str) -> bool:
        """Whether the flag does what it says."""
        return flag in self.flags

    def unsupported(self) -> dict[Method, str]:
        """The ways to guess that it does not know, with the reason."""
        problems: dict[Method, str] = {}
        if not {"draft-mtp", "mtp"} & self.types:
            problems["draft-mtp"] = "this build has no --spec-type draft-mtp"
        if "ngram-simple" not in self.types:
            problems["ngram-simple"] = "this build has no --spec-type ngram-simple"
        if not (self.has("--spec-draft-n-max") or self.has("--draft-max")):
            problems["draft-simple"] = "this build has no option for the length of a draft"
        return problems


def current_build() -> Build:
    """The options of llama.cpp since May 2026."""
    flags = """-ngl -fa -ctk -ctv -np --mmproj --spec-type --spec-draft-model --spec-draft-ngl
        --spec-draft-n-max --spec-draft-type-k --spec-draft-type-v --spec-ngram-simple-size-m"""
    return Build(
        flags=frozenset(flags.split()),
        types=frozenset({"draft-simple", "draft-mtp", "ngram-simple"}),
    )


def read_build(where: str) -> Build:
    """The build by its own help: a llama-server to be asked, or a file with what it printed.

    Raises `FileError` if there is neither, `EngineFailed` if it does not run, `InputError` if it is
    not the help of a llama-server.
    """
    path = Path(where).expanduser()
    if not path.is_file():
        raise FileError(
            f"there is no file {where}", hint="--build takes a llama-server, or its help"
        )
    text = (
        answer_of(path, "--help")
        if os.access(path, os.X_OK)
        else path.read_text("utf-8", errors="replace")
    )
    build = parse_help(text)
    if not build.has("-ngl"):
        raise InputError(f"{where} does not print the help of a llama-server")
    return build


def parse_help(text: str) -> Build:
    """Flags and types in what `--help` printed; stubs of removed flags are not counted."""
    flags: set[str] = set()
    types: set[str] = set()
    for entry in _ENTRY.split(text):
        if not entry.startswith("-") or entry.startswith("-----") or _REMOVED in entry:
            continue
        # The names stand before the value's placeholder, which is apart by one space.
        names = re.match(r"(?:--?[a-zA-Z][\w-]*,?\s+)+", entry + " ")
        if names is None:
            continue
        flags |= set(_FLAG.findall(names[0]))
        if "--spec-type" in names[0]:
            types = set(re.findall(r"[a-z][\w-]*", entry.split("--spec-type", 1)[1]))
    return Build(frozenset(flags), frozenset(types))


def command_line(
    question: Question, chosen: Candidate, build: Build, *, projector: str | None = None
) -> str:
    """The whole command, ready for a shell; `projector` is the path of one."""
    setup, target = question.setup, question.target
    words = ["llama-server", *_model("-m", "-hf", target)]
    words += ["-c", str(setup.context_tokens * setup.sequences), "-np", str(setup.sequences)]
    if question.machine.gpu is not None:
        words += ["-ngl", str(chosen.gpu_layers)]
    if (setup.key_type, setup.value_type) != ("f16", "f16"):
        words += ["-fa", "on", "-ctk", setup.key_type, "-ctv", setup.value_type]
    if setup.batch_tokens != _DEFAULT_BATCH_TOKENS:
        words += ["-ub", str(setup.batch_tokens)]
    if projector:
        words += ["--mmproj", projector]
    words += _speculation(question, chosen, build)
    return shlex.join(words)


def _speculation(question: Question, chosen: Candidate, build: Build) -> list[str]:
    if chosen.method == "none":
        return ["--spec-type", "none"] if build.has("--spec-type") else []
    words: list[str] = []
    if build.has("--spec-type"):
        old = chosen.method == "draft-mtp" and "draft-mtp" not in build.types
        known = chosen.method in build.types
        if old or known:
            words += ["--spec-type", "mtp" if old else chosen.method]
    longest = "--spec-draft-n-max" if build.has("--spec-draft-n-max") else "--draft-max"
    if chosen.method == "ngram-simple":
        size = "--spec-ngram-simple-size-m"
        return [*words, size if build.has(size) else longest, str(chosen.k)]
    if chosen.method == "draft-simple" and question.draft is not None:
        words += _draft(question, question.draft, chosen, build)
    return [*words, longest, str(chosen.k)]


def _draft(question: Question, draft: ModelFile, chosen: Candidate, build: Build) -> list[str]:
    new = build.has("--spec-draft-model")
    words = _model(
        "--spec-draft-model" if new else "-md", "--spec-draft-hf" if new else "-hfd", draft
    )
    if question.machine.gpu is not None:
        words += ["--spec-draft-ngl" if new else "-ngld", "99" if chosen.draft_on_gpu else "0"]
    if (question.draft_key_type, question.draft_value_type) != ("f16", "f16"):
        names = ("--spec-draft-type-k", "--spec-draft-type-v") if new else ("-ctkd", "-ctvd")
        words += [names[0], question.draft_key_type, names[1], question.draft_value_type]
    return words


def _model(flag: str, hub_flag: str, model: ModelFile) -> list[str]:
    """A path as it is; a name on Hugging Face as llama-server takes it."""
    if not model.is_local and model.where.startswith("hf:"):
        return [hub_flag, model.where.removeprefix("hf:")]
    return [flag, model.where]
