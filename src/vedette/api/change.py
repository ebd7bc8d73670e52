"""Commit messages, pull requests and changelog entries as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

from vedette.errors import VedetteError
from vedette.tasks.commit.entry import WriteEntry, known_entry
from vedette.tasks.commit.language import language_of
from vedette.tasks.commit.message import WriteCommit
from vedette.tasks.commit.pull_request import WritePullRequest
from vedette.tasks.commit.release_notes import entry_of, release_notes
from vedette.tasks.commit.wording import READ_TOKENS, Wording
from vedette.types import Answer, Item, Json

from .items import map, one
from .shared import Answerer


def Commit(
    *,
    style: Literal["conventional", "plain"] = "conventional",
    body: Literal["auto", "none", "bullets"] = "auto",
    scope: str = "auto",
    breaking: bool = False,
    language: str = "en",
    instructions: str = "",
    max_read_tokens: int = READ_TOKENS,
) -> WriteCommit:
    """The commit task, for `map` over diffs."""
    wording = Wording(
        style=style,
        scope=scope,
        breaking=breaking,
        language=language_of(language),
        instructions=instructions,
        max_read_tokens=max_read_tokens,
    )
    return WriteCommit(wording, body)


def PullRequest(
    *,
    style: Literal["conventional", "plain"] = "plain",
    language: str = "en",
    instructions: str = "",
    max_read_tokens: int = READ_TOKENS,
) -> WritePullRequest:
    """The pull request task, for `map` over diffs."""
    return WritePullRequest(
        Wording(
            style=style,
            language=language_of(language),
            instructions=instructions,
            max_read_tokens=max_read_tokens,
        )
    )


def ChangelogEntry(*, reword: bool = False) -> WriteEntry:
    """The changelog task, for `map` over commit messages."""
    return WriteEntry(reword=reword)


def notes_of(
    items: Sequence[Item],
    title: str,
    ask: Callable[[Iterable[Item]], Iterable[Answer | VedetteError]],
) -> str:
    """Commit messages as a part of a changelog; `ask` is called for those that need the model."""
    values = {item.id: known_entry(item.text) for item in items}
    unknown = [item for item in items if values[item.id] is None]
    for item, outcome in zip(unknown, ask(unknown) if unknown else (), strict=True):
        if isinstance(outcome, VedetteError):
            raise outcome
        values[item.id] = cast(dict[str, Any] | None, outcome.value)
    found = ((name, value) for name, value in values.items() if value is not None)
    return release_notes((entry_of(name, value) for name, value in found), title).markdown


def commit(
    diff: str, *, model: str | None = None, backend: Answerer | None = None
) -> dict[str, Json]:
    """A commit message for a diff, with its parts: keys `message`, `header`, `type`, ..."""
    return cast(dict[str, Json], one(Commit(), diff, model, backend))


def pull_request(
    diff: str, *, model: str | None = None, backend: Answerer | None = None
) -> dict[str, Json]:
    """A pull request's text for a diff, with its parts: keys `markdown`, `title`, `summary`, ..."""
    return cast(dict[str, Json], one(PullRequest(), diff, model, backend))


def changelog(
    commits: Iterable[tuple[str, str]],
    *,
    title: str = "[Unreleased]",
    model: str | None = None,
    backend: Answerer | None = None,
) -> str:
    """A part of a changelog, in Markdown, from pairs of a commit's hash and its message.

    The model is loaded only where a message does not say its heading itself.
    """
    items = [Item(id=name, text=message) for name, message in commits]
    task = ChangelogEntry()
    return notes_of(items, title, lambda left: map(left, task, model=model, backend=backend))
