"""How a change is put into words: notes on its parts, its type, its first line."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar, cast

from vedette.backends.base import Backend, Result
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Ask
from vedette.tasks.budget import check_at_least_1
from vedette.tasks.labels import Label
from vedette.tasks.prompt_data import fill, load_prompt, text_of, with_instructions
from vedette.types import Json, Message, Prompt, Usage

from .areas import scope_of
from .change_types import check_types, default_types
from .digest import DIGEST_TOKENS, digest
from .header import MAX_HEADER_CHARS, Header
from .kind import Kind, KindQuestion
from .language import Language, languages
from .line import Line, LineAsk, written
from .names import KnownNames
from .reading import Group, Reading

GROUP_TOKENS = 1000
"""More than this at once, and a small model loses the thread."""

READ_TOKENS = 3000
LEAST_SUBJECT_CHARS = 30
MAX_NOTE_CHARS = 96
_SHOWN_UNREAD = 12

T = TypeVar("T")
Asking = Generator[Sequence[Ask], Sequence[Result], T]


@dataclass(frozen=True)
class Wording:
    """Options that commit and pr share.

    `style` conventional writes a header with one of `types`; plain, one sentence. `scope` is
    `auto` (the folder that the files share), `none`, or a name; scopes in `known_scopes` come
    first. `max_read_tokens` bounds what is read of a change, whatever its size. Raises
    `LabelError` for types that cannot be used, `InputError` for the rest.
    """

    style: Literal["conventional", "plain"] = "conventional"
    types: tuple[Label, ...] = field(default_factory=default_types)
    scope: str = "auto"
    known_scopes: tuple[str, ...] = ()
    breaking: bool = False
    language: Language = field(default_factory=lambda: languages()["en"])
    instructions: str = ""
    max_read_tokens: int = READ_TOKENS

    def __post_init__(self) -> None:
        check_types(self.types)
        check_at_least_1("max_read_tokens", self.max_read_tokens)
        if self.style == "plain" and (self.breaking or self.scope not in ("auto", "none")):
            raise InputError("a plain line has no scope and no mark for a breaking change")
        if self.style == "plain" and self.types != default_types():
            raise InputError("a plain line has no type", hint="types go with style conventional")
        if set(self.scope) & set("()\n!:") or not self.scope.strip():
            raise InputError(f"{self.scope!r} cannot be a scope")
        longest = max(len(label.name) for label in self.types)
        room = MAX_HEADER_CHARS - longest - len(self.scope) - len("()!: ")
        if room < LEAST_SUBJECT_CHARS:
            raise InputError(f"the scope {self.scope!r} leaves no room for a subject")

    @property
    def identity(self) -> dict[str, Json]:
        """What the lines depend on."""
        return {
            "style": self.style,
            "types": [[label.name, label.description] for label in self.types],
            "scope": [self.scope, *self.known_scopes],
            "breaking": self.breaking,
            "language": self.language.name,
            "prompt": [
                *[f"{m.role}: {m.content}" for m in self.shared_messages],
                *[text_of("commit", key) for key in ("choose_type", "from_digest", "unread")],
            ],
            "max_read_tokens": self.max_read_tokens,
        }

    def check(self, backend: Backend) -> None:
        """Raises `CapabilityMissing` for a backend that cannot do this."""
        can = backend.capabilities
        if not (can.can_constrain and can.can_score):
            raise CapabilityMissing("this needs a backend that can constrain and score")

    def group_tokens(self, backend: Backend) -> int:
        """Tokens of a change that are read at once."""
        return min(GROUP_TOKENS, backend.capabilities.context_tokens // 2)

    @cached_property
    def shared_messages(self) -> tuple[Message, ...]:
        """What every question begins with: the instructions, and examples in the language."""
        system = fill(text_of("commit", "system"), language=self.language.name)
        messages = [Message("system", with_instructions(system, self.instructions))]
        data = load_prompt("commit")
        lines = data.get(f"example_lines_{self.language.code}", ())
        for change, line in zip(data["example_changes"], lines, strict=False):
            messages += _example(change, line)
        return tuple(messages)

    @cached_property
    def _examples(self) -> str:
        """What the examples say, which no line may repeat."""
        return "\n".join(message.content for message in self.shared_messages[1:])

    def _prompt(self, change: str, *, kept: bool = False) -> Prompt:
        """The question about one change; `kept` if another will be asked about the same."""
        shared = self.shared_messages
        return Prompt((*shared, Message("user", change)), shared_messages=len(shared) + kept)

    def notes(self, groups: Sequence[Group], names: KnownNames) -> Asking[tuple[list[Line], Usage]]:
        """A line on each group."""
        asks = [LineAsk(self._prompt(group.text), MAX_NOTE_CHARS) for group in groups]
        return (yield from written(asks, names, self.language, self._examples))

    def _material(self, reading: Reading, backend: Backend) -> str:
        """What the type and the first line are made from: the diff, or a digest of a large one."""
        parts = []
        if len(reading.groups) == 1:
            parts.append(reading.groups[0].text)
        elif reading.groups:
            unread = {path for path, _ in reading.unread}
            files = [file for file in reading.files if file.path not in unread]
            most = min(DIGEST_TOKENS, self.group_tokens(backend))
            told = digest(files, backend.count_tokens, most)
            parts.append(fill(text_of("commit", "from_digest"), digest=told))
        if reading.unread:
            shown = [f"{path} ({why})" for path, why in reading.unread[:_SHOWN_UNREAD]]
            if len(reading.unread) > _SHOWN_UNREAD:
                shown.append(f"and {len(reading.unread) - _SHOWN_UNREAD} more")
            parts.append(fill(text_of("commit", "unread"), files="\n".join(shown)))
        return "\n\n".join(parts)

    @cached_property
    def _kinds(self) -> KindQuestion:
        return KindQuestion(self.types)

    def header(
        self, reading: Reading, names: KnownNames, backend: Backend
    ) -> Asking[tuple[Header, Kind | None, Line, Usage]]:
        """The first line, and its type, which is asked for after the subject and fits it.

        Where every try had invented names, the subject says how many files there are.
        """
        text = self._material(reading, backend)
        is_typed = self.style == "conventional"
        longest = max((label.name for label in self.types), key=len)
        most = Header("", longest, self._scope(reading), self.breaking) if is_typed else Header("")
        prompt = self._prompt(text, kept=is_typed)
        ask = LineAsk(prompt, MAX_HEADER_CHARS - len(most.prefix))
        (line,), usage = yield from written([ask], names, self.language, self._examples)
        if line.text is None:
            n = len(reading.files)
            what = f"{n} files" if n > 1 else "1 file"
            plain = fill(text_of("commit", "subject_without_model"), what=what)
            line = Line(plain, (*line.changes, "it only counts files"))
        subject = cast(str, line.text)
        if not is_typed:
            return Header(_cased(subject, lower=False)), None, line, usage
        kind, spent = yield from self._kinds.answer(reading.files, prompt, subject, backend)
        subject = _cased(subject, lower=True)
        says_same = self.scope == "auto" and most.scope in (kind.name, f"{kind.name}s")
        scope = None if says_same else most.scope
        header = replace(most, subject=subject, type=kind.name, scope=scope)
        return header, kind, line, usage + spent

    def _scope(self, reading: Reading) -> str | None:
        if self.scope == "none":
            return None
        return scope_of(reading.files, self.known_scopes) if self.scope == "auto" else self.scope


def _example(change: str, line: object) -> list[Message]:
    return [Message("user", change.strip()), Message("assistant", str(line))]


def _cased(subject: str, *, lower: bool) -> str:
    """The first letter as the style has it, unless the first word is a name or an abbreviation."""
    first = subject.split(" ", 1)[0].rstrip(",")
    if not (first.isalpha() and first[1:].islower()):
        return subject
    return subject[0].lower() + subject[1:] if lower else subject[0].upper() + subject[1:]
