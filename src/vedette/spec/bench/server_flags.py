"""Variants of a llama-server: a name and its further options, read from one text."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from vedette.errors import InputError, ModelError
from vedette.models.locate import locate

from .side import Asked, Variant

DRAFT_OPTIONS = ("-md", "--model-draft", "--spec-draft-model")
FETCHED_DRAFT_OPTIONS = ("-hfd", "-hfrd", "--hf-repo-draft", "--spec-draft-hf")
OURS = ("-m", "--model", "--host", "--port", "-np", "--parallel")
"""What is the same for all variants, and given elsewhere."""


def parse_variants(texts: Sequence[str]) -> tuple[Variant, ...]:
    """From `NAME` or `NAME: OPTIONS`. A model's name in place of a draft's path becomes its path.

    Raises `InputError` for texts that are none, for names that come twice, and for options that
    the comparison itself sets.
    """
    if len(texts) < 2:
        raise InputError(
            "a comparison needs two variants",
            hint="give --variant plain and --variant 'draft: -md FILE --spec-type draft-simple'",
        )
    made: list[Variant] = []
    for text in texts:
        name, _, rest = text.partition(":")
        name = name.strip()
        if not re.fullmatch(r"[^\s-].*", name):
            raise InputError(
                f"--variant {text!r} has no name", hint="it is NAME, or NAME: OPTIONS of the server"
            )
        if re.search(r"\s-", name):
            raise InputError(
                f"--variant {text!r} has options in its name",
                hint="a colon goes between them: 'NAME: OPTIONS'",
            )
        if any(one.name == name for one in made):
            raise InputError(f"two variants have the name {name!r}")
        words = _words(rest, name)
        made.append(Variant(name, shlex.join(words), asked_of(words)))
    return tuple(made)


def _words(text: str, name: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"the options of variant {name!r} cannot be read: {error}") from error
    ours = next((word for word in words if word in OURS), None)
    if ours is not None:
        raise InputError(
            f"variant {name!r} has {ours}, which is the same for all variants",
            hint="name the model with --model; each server has one slot, and a port of its own",
        )
    for i, word in enumerate(words[:-1]):
        if word in DRAFT_OPTIONS and not os.path.exists(words[i + 1]):
            words[i + 1] = _located(words[i + 1])
    return words


def _located(name: str) -> str:
    try:
        return str(locate(name).path)
    except ModelError as error:
        raise InputError(f"there is no draft {name}: {error.message}", hint=error.hint) from error


def asked_of(words: Sequence[str]) -> Asked:
    """Who is to guess by these options of a llama-server."""
    types: list[str] = []
    for i, word in enumerate(words[:-1]):
        if word == "--spec-type":
            types += words[i + 1].split(",")
    if any(word in (*DRAFT_OPTIONS, *FETCHED_DRAFT_OPTIONS) for word in words) or any(
        one.startswith("draft-") for one in types
    ):
        return "draft"
    if any(one.startswith("ngram-") for one in types) or "--spec-default" in words:
        return "ngram"
    return ""
