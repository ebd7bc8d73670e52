"""Commands of a llama-server in shell text: scripts, and single command lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import PurePath

from .lexer import SHELL, Simple, simple_commands
from .target import PROGRAM_NAMES
from .words import Command, EnvEntry, Span, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_IMAGE = re.compile(r"(?:[a-z0-9][\w.-]*(?::\d+)?/)*[\w.-]*llama[\w.-]*(?::[\w.-]+|@sha256:\w+)?")
_HELD = re.compile(r"llama[_-]?(?:cpp[_-]?)?server", re.IGNORECASE)  # $LLAMA_SERVER and the like
_CONTAINER_PROGRAMS = ("docker", "podman", "nerdctl")
_CONTAINER_OPTIONS = frozenset((
    "--name", "-v", "--volume", "--mount", "-e", "--env", "-w", "--workdir", "-p", "--publish",
    "--network", "--net", "-h", "--hostname", "-l", "--label", "--env-file", "--entrypoint", "-u",
))  # fmt: skip
# What starts another program whose name follows.
_WRAPPERS = frozenset((
    "sudo", "doas", "exec", "nohup", "env", "time", "nice", "ionice", "numactl", "taskset",
    "setsid", "stdbuf", "timeout", "chrt", "systemd-run", "screen", "tmux", "then", "do", "else",
    "if", "while", "until", "!", "{", "command", "prime-run", "$",
))  # fmt: skip
_SHELLS = ("sh", "bash", "dash", "zsh", "ash")
_OLD_NAME = "server"  # until June 2024 the program was called so
_VARIABLE = "LLAMA_"


def shell_commands(text: str, span: Span | None = None, *, alone: bool = False) -> list[Command]:
    """Every call of a llama-server in a script.

    `alone`: the text is one command line, so one that begins with a flag is its arguments.
    """
    span = span or Span(0, len(text))
    simples = simple_commands(text, span, SHELL)
    exported = [entry for simple in simples for entry in _exports(simple.words)]
    found: list[Command] = []
    for simple in simples:
        found += _calls(text, simple, exported, alone=alone)
    return found


def command_of(words: Sequence[Word], env: Iterable[EnvEntry] = ()) -> Command | None:
    """The call of a llama-server in the words of one simple command, if it is one."""
    at = _program_at(words)
    if at is None:
        return None
    before = words[:at]
    in_container = _runs_container(words) and at == _image_at(words)
    own = _container_env(before)
    named = {entry.name_span for entry in own}
    plain = [entry for word in before if (entry := assignment(word))]
    own += [entry for entry in plain if entry.name_span not in named]
    program = words[at]
    span = Span(min(each.span.start for each in words), max(each.span.end for each in words))
    inherited = () if in_container else env  # a container gets only what is given to it
    return Command(program, tuple(words[at + 1 :]), (*inherited, *own), span, title=program.value)


def assignment(word: Word, *, offset: int = 0) -> EnvEntry | None:
    """`NAME=value` as a variable that is set; `offset` characters stand before it in the word."""
    match = _ASSIGNMENT.fullmatch(word.value[offset:])
    if match is None or not match[1].startswith(_VARIABLE):
        return None
    start = word.span.start + offset
    is_plain = word.span.end - word.span.start == len(word.value)  # no quotes, nothing escaped
    return EnvEntry(
        match[1],
        match[2],
        Span(start, start + len(match[1])),
        word.removal,
        word.dynamic,
        Span(start + len(match[1]) + 1, word.span.end) if is_plain else None,
    )


def is_program(value: str) -> bool:
    """Whether a word names a llama-server."""
    name = PurePath(value.replace("\\", "/")).name
    return name in PROGRAM_NAMES or (name == _OLD_NAME and "/" in value)


def _calls(text: str, simple: Simple, exported: list[EnvEntry], *, alone: bool) -> list[Command]:
    words = simple.words
    inner = _inner_script(text, words)
    if inner is not None:
        return shell_commands(text, inner)
    command = command_of(words, exported)
    if command is not None:
        return [command]
    if alone and words[0].value.startswith("-"):
        span = Span(words[0].span.start, words[-1].span.end)
        return [Command(None, words, tuple(exported), span)]
    return []


def _inner_script(text: str, words: Sequence[Word]) -> Span | None:
    """What `sh -c '...'` runs, if it can be read where it stands."""
    for index, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-z]*c", word.value) and any(
            PurePath(each.value).name in _SHELLS for each in words[:index]
        ):
            script = words[index + 1].span
            raw = text[script.start : script.end]
            if len(raw) > 1 and raw[0] in "\"'" and raw[0] == raw[-1] and "\\" not in raw:
                return Span(script.start + 1, script.end - 1)
    return None


def _program_at(words: Sequence[Word]) -> int | None:
    """Which word is the server: the command itself, what a wrapper starts, or an image."""
    named = [index for index, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word.value)]
    if not named:
        return None
    first = words[named[0]]
    name = PurePath(first.value).name
    if is_program(first.value) or (first.dynamic and _HELD.search(first.value)):
        return named[0]
    if name in _CONTAINER_PROGRAMS or (name in _WRAPPERS and _runs_container(words)):
        return _image_at(words)
    if name in _WRAPPERS:
        return next((index for index in named[1:] if is_program(words[index].value)), None)
    return None


def _runs_container(words: Sequence[Word]) -> bool:
    return any(word.value in _CONTAINER_PROGRAMS for word in words[:3])


def _image_at(words: Sequence[Word]) -> int | None:
    """The image's name in a `docker run`, or a llama-server that is started in its stead."""
    image = None
    for index, word in enumerate(words[1:], 1):
        if words[index - 1].value not in _CONTAINER_OPTIONS and _IMAGE.fullmatch(word.value):
            image = index
            break
    if image is None:
        return None
    after = words[image + 1 : image + 2]
    return image + 1 if after and is_program(after[0].value) else image


def _container_env(words: Sequence[Word]) -> list[EnvEntry]:
    """`-e NAME=value` and `--env=NAME=value` of docker run."""
    found = []
    for before, word in pairwise(words):
        if before.value in ("-e", "--env") and (entry := assignment(word)):
            entry.removal = Span(before.removal.start, word.removal.end)
            found.append(entry)
    for word in words:
        if word.value.startswith("--env=") and (entry := assignment(word, offset=len("--env="))):
            found.append(entry)
    return found


def _exports(words: Sequence[Word]) -> list[EnvEntry]:
    """Variables that are set for all that follows."""
    if words and words[0].value == "export":
        rest: Sequence[Word] = words[1:]
    elif all(_ASSIGNMENT.fullmatch(word.value) for word in words):
        rest = words
    else:
        return []
    return [entry for word in rest if (entry := assignment(word))]
