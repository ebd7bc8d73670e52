"""Ready-made tasks, from Python: sentiment, tags, metadata, triage; and where a task goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from vedette.backends.none import NoModel
from vedette.errors import InputError
from vedette.tasks.classify import Classify
from vedette.tasks.decide import Decide
from vedette.tasks.extract import Extract
from vedette.tasks.presets import build
from vedette.tasks.presets.listed_tags import ListedTags
from vedette.tasks.red_lines.route import Route as RouteTask
from vedette.types import Item, Json

from .decisions import labels_of
from .items import one
from .shared import Answerer

Labels: TypeAlias = Sequence[str] | dict[str, str] | str
"""Names, names with descriptions, or what `--labels` takes."""

_INPUT = "input"


def Sentiment(*, prior: str = "stream") -> Classify:
    """The sentiment task, for `map`."""
    return build.sentiment(prior=prior)


def sentiment(
    text: str, *, model: str | None = None, backend: Answerer | None = None
) -> dict[str, Json]:
    """Positive, negative or neutral: keys `label`, `probabilities` and others.

    `backend`: see `extract`.
    """
    return cast(dict[str, Json], one(Sentiment(), text, model, backend))


def Tag(
    labels: Labels | None = None, *, most: int | None = None, threshold: float | None = None
) -> Extract | ListedTags:
    """The tag task, for `map`: free tags, or those of a list that apply."""
    if labels is not None:
        return build.listed_tags(labels_of(labels), most=most, threshold=threshold)
    if threshold is not None:
        raise InputError("threshold goes with labels")
    return build.free_tags(build.MOST_TAGS if most is None else most)


def tag(
    text: str,
    labels: Labels | None = None,
    *,
    most: int | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> list[str]:
    """The tags of a text: free ones, or those of `labels` that apply. `backend`: see `extract`."""
    value = cast(dict[str, Json], one(Tag(labels, most=most), text, model, backend))
    return cast(list[str], value["tags"])


def Metadata() -> Extract:
    """The metadata task, for `map`."""
    return build.metadata()


def metadata(
    text: str, *, model: str | None = None, backend: Answerer | None = None
) -> dict[str, Json]:
    """Title, authors, date, language, type and topics of a document. `backend`: see `extract`."""
    return cast(dict[str, Json], one(Metadata(), text, model, backend))


def Triage(categories: Labels = (), teams: Labels = ()) -> Decide:
    """The triage task, for `map`; without lists of your own, with those of the preset."""
    return build.triage(labels_of(categories), labels_of(teams))


def triage(
    text: str,
    *,
    categories: Labels = (),
    teams: Labels = (),
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """The answers about a ticket: `category`, `urgency`, `angry` and `team`.

    `backend`: see `extract`.
    """
    value = cast(dict[str, Json], one(Triage(categories, teams), text, model, backend))
    return cast(dict[str, Json], value["answers"])


def Route(*, rules_only: bool = False) -> RouteTask:
    """The route task, for `map`. An item's column `input` is the text that its task is about."""
    return RouteTask(rules_only=rules_only, input_column=_INPUT)


def route(
    task: str,
    input: str = "",
    *,
    rules_only: bool = False,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """Whether a small model can do a task: `route` (`small` or `up`), `kind`, `reason`, ...

    `input` is the text that the task is about, if there is one. `rules_only` loads no model.
    `backend`: see `extract`.
    """
    item = Item(id="1", text=task, columns={_INPUT: input})
    asked = NoModel() if rules_only else backend
    return cast(dict[str, Json], one(Route(rules_only=rules_only), item, model, asked))
