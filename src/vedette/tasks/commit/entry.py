"""A commit's message to an entry of a changelog."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from vedette.backends.base import Backend, Result
from vedette.errors import CapabilityMissing
from vedette.tasks.base import Ask, Steps
from vedette.tasks.classify import Classify
from vedette.tasks.labels import Label
from vedette.tasks.prompt_data import fill, load_prompt, prompt_of, text_of
from vedette.types import Answer, Item, Json, Usage

from .header import breaking_footer, parse_header
from .language import language_of_subjects
from .line import LineAsk, written
from .names import KnownNames, names_in

MAX_ENTRY_CHARS = 120
INTERNAL = "Internal"

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")


@dataclass(frozen=True)
class WriteEntry:
    """Implements `Task`: heading and text of a changelog entry for each commit message.

    The value has `heading` (of Keep a Changelog, or `Internal`), how it was found (`by`: the
    message's `type`, its first `verb`, or a `score` with `probabilities`), `text`, `scope`,
    `breaking` (null, or what breaks), and `changes`. With `reword` the model writes the text for
    users; a rewording that loses or adds a name or a number is not taken.
    """

    reword: bool = False
    name: str = field(default="changelog", init=False)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": [f"{key}: {text}" for key, text in load_prompt("changelog").items()],
            "reword": self.reword,
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        can = backend.capabilities
        if not can.can_score or (self.reword and not can.can_constrain):
            raise CapabilityMissing("changelog needs a backend that can score and constrain")
        message = item.text.strip()
        if not message:
            return Answer(value=None, extra={"empty": True})
        value = known_entry(message)
        usage = Usage()
        if value is None:
            asked = candidates(message)
            if asked not in self._classifiers:
                self._classifiers[asked] = Classify(
                    asked, prior="content-free", instructions=text_of("changelog", "choose_heading")
                )
            ask = self._classifiers[asked].steps(replace(item, text=message), backend)
            answer = yield from ask
            chosen = cast(dict[str, Json], answer.value)
            value = _entry(message, cast(str, chosen["label"]), "score")
            value["probabilities"] = chosen["probabilities"]
            usage += answer.usage
        if self.reword:
            text, changes, spent = yield from _reworded(cast(str, value["text"]))
            value = {**value, "text": text, "changes": [*changes]}
            usage += spent
        return Answer(value=value, usage=usage)

    @cached_property
    def _classifiers(self) -> dict[tuple[Label, ...], Classify]:
        """By the headings that they ask about, each with its prior, measured once."""
        return {}


def headings() -> tuple[str, ...]:
    """The headings in their order, the one for what users do not notice last."""
    return (*(name for name, _ in _pairs("headings")), INTERNAL)


def candidates(message: str) -> tuple[Label, ...]:
    """The headings worth asking about: some only where a word of the message speaks of them.

    A small model finds a weakness closed or a thing taken away in any message, and what it takes
    for internal would not be listed.
    """
    lower = message.lower()
    rare = {name: words.lower().split() for name, words in _pairs("telling")}
    return tuple(
        Label(name, text)
        for name, text in (*_pairs("headings"), *_pairs("internal"))
        if name not in rare or any(word in lower for word in rare[name])
    )


def known_entry(message: str) -> dict[str, Json] | None:
    """The entry of a message that says its heading itself; None where the model must say it."""
    subject = _subject(message)
    header = parse_header(subject)
    by_type = dict(_pairs("types"))
    if header is not None and header.type in by_type:
        return _entry(message, by_type[header.type], "type")
    lower = subject.lower()
    for verb, heading in _pairs("verbs"):
        if lower.startswith(verb) and (not verb.isascii() or lower[len(verb) :][:1] in ("", " ")):
            return _entry(message, heading, "verb")
    return None


def _entry(message: str, heading: str, by: str) -> dict[str, Json]:
    header = parse_header(_subject(message))
    text = header.subject if header else _subject(message)
    breaks = breaking_footer(message)
    if breaks is None and header and header.breaking:
        breaks = text
    return {
        "heading": heading,
        "by": by,
        "probabilities": {},
        "text": text,
        "type": header.type if header else None,
        "scope": header.scope if header else None,
        "breaking": breaks,
        "changes": [],
    }


def _subject(message: str) -> str:
    return message.strip().partition("\n")[0].strip()


def _pairs(key: str) -> list[tuple[str, str]]:
    """The `name: text` lines of the prompt file."""
    lines = load_prompt("changelog")[key]
    parts = [line.partition(":") for line in ([lines] if isinstance(lines, str) else lines)]
    return [(name.strip(), text.strip()) for name, _, text in parts]


def _reworded(
    text: str,
) -> Generator[Sequence[Ask], Sequence[Result], tuple[str, tuple[str, ...], Usage]]:
    """The text for users, with the same names and numbers; else as it was, and why."""
    language = language_of_subjects([text])
    system = fill(text_of("changelog", "reword_system"), language=language.name)
    ask = LineAsk(prompt_of(system, text), MAX_ENTRY_CHARS)
    (line,), usage = yield from written([ask], KnownNames(text), language)
    if line.text is None:
        return text, (*line.changes, "kept as it was written"), usage
    lost, added = facts(text) - facts(line.text), facts(line.text) - facts(text)
    if lost or added:
        what = ", ".join(
            [*(f"lost {f}" for f in sorted(lost)), *(f"added {f}" for f in sorted(added))]
        )
        return text, (*line.changes, f"kept as it was written: the rewording {what}"), usage
    return line.text, line.changes, usage


def facts(text: str) -> set[str]:
    """Names, numbers and hashes of a text."""
    return {*names_in(text), *_NUMBER.findall(text), *_HASH.findall(text)}
