"""A diff to a commit message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from vedette.backends.base import Backend
from vedette.tasks.base import Steps
from vedette.types import Answer, Item, Json, Usage

from .diff import SAMPLE, parse_diff
from .line import Line
from .names import KnownNames
from .reading import read_change
from .wording import Wording
from .wrap import bullet

MAX_BULLETS = 8


@dataclass(frozen=True)
class WriteCommit:
    """Implements `Task`: a commit message for each diff.

    The value has `message` and its parts (`header`, `type`, `scope`, `breaking`, `subject`,
    `body`), how the type was found (`type_by`, `probabilities`), what was read and what was not
    (`read`), and `changes`: what was done to the model's words. No file or identifier is named
    that the diff does not have. `body` auto has a bullet for each part of a change that is too
    large to be read at once, and no body for others; `bullets` for any change. Raises `InputError`
    for a text that is no diff.
    """

    wording: Wording = field(default_factory=Wording)
    body: Literal["auto", "none", "bullets"] = "auto"
    name: str = field(default="commit", init=False)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {**self.wording.identity, "body": self.body}

    @property
    def sample_text(self) -> str:
        """See `TakesForm`."""
        return SAMPLE

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        self.wording.check(backend)
        if not item.text.strip():
            return Answer(value=None, extra={"empty": True})
        files = parse_diff(item.text)
        names = KnownNames.of_files(files)
        reading = read_change(
            files,
            backend.count_tokens,
            budget_tokens=self.wording.max_read_tokens,
            group_tokens=self.wording.group_tokens(backend),
            max_groups=MAX_BULLETS,
            together=self.body != "bullets",
        )
        notes: list[Line] = []
        usage = Usage()
        if self.body != "none" and len(reading.groups) > (self.body == "auto"):
            notes, usage = yield from self.wording.notes(reading.groups, names)
        header, kind, line, spent = yield from self.wording.header(reading, names, backend)
        body, dropped = _bullets(notes, header.subject)
        value: dict[str, Json] = {
            "message": "\n".join([str(header), *([""] if body else []), *body]),
            "header": str(header),
            "type": header.type,
            "scope": header.scope,
            "breaking": header.breaking,
            "subject": header.subject,
            "body": "\n".join(body),
            "type_by": kind.by if kind else None,
            "probabilities": kind.probabilities if kind else {},
            "read": reading.as_json(),
            "changes": [
                *(f"subject: {change}" for change in line.changes),
                *(f"body: {change}" for change in dropped),
            ],
        }
        return Answer(value=value, usage=usage + spent)


def _bullets(notes: Sequence[Line], subject: str) -> tuple[list[str], list[str]]:
    """The notes as wrapped lines, each once, and what became of them."""
    lines: list[str] = []
    changes: list[str] = []
    seen = {subject.lower()}
    for note in notes:
        changes += note.changes
        if note.text is None:
            changes.append("a line was dropped, as it could not be had without invented names")
        elif note.text.lower() in seen:
            changes.append(f"a line that was there already was dropped: {note.text}")
        else:
            seen.add(note.text.lower())
            lines += bullet(note.text)
    return lines, changes
