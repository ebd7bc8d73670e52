"""What a task is: a plan of requests for one item, and what their results mean."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vedette.backends.base import Backend, Result
from vedette.types import Answer, AnyRequest, EmbedRequest, Item, Json

Ask: TypeAlias = AnyRequest
Steps: TypeAlias = Generator[Sequence[Ask], Sequence[Result], Answer]


class Task(Protocol):
    """Something done to every item of a job. Stateless between items."""

    @property
    def name(self) -> str:
        """The verb, as on the command line."""
        ...

    @property
    def identity(self) -> dict[str, Json]:
        """All that its answers depend on besides item and model: prompt, schema, parameters."""
        ...

    def steps(self, item: Item, backend: Backend) -> Steps:
        """Yield requests to be run side by side, receive their results in order, return the answer.

        Does no I/O itself, so that any runner can drive it: one item at a time, thousands at
        once, or asyncio. Raises `InputError` for an item that cannot be done; a failed request's
        error is thrown into the generator.
        """
        ...


@runtime_checkable
class ShowsSchema(Protocol):
    """A task whose prompt shows its schema to the model."""

    @property
    def schema_prompt(self) -> str:
        """That part of the prompt; empty if it is left out."""
        ...


@runtime_checkable
class Sees(Protocol):
    """A task that can be given a picture: it only puts an item's text into its prompt."""

    @property
    def why_text(self) -> str:
        """Why it needs the text of a picture all the same; empty if it does not."""
        ...


@runtime_checkable
class TakesForm(Protocol):
    """A task that takes no text but those of a certain form, such as a diff."""

    @property
    def sample_text(self) -> str:
        """The shortest that it takes, to try the task on before the first row."""
        ...


@runtime_checkable
class Embeds(Task, Protocol):
    """A task that needs the places of texts of its own before it answers anything."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts."""
        ...

    def embed_request(self, text: str) -> EmbedRequest:
        """What is asked about each."""
        ...

    def placed(self, vectors: NDArray[np.float32]) -> Task:
        """The task that knows their places.  # (n_texts, n_values)"""
        ...


@runtime_checkable
class KeepsPlaces(Protocol):
    """A task that asks for the places of texts that come again (`EmbedRequest.keep`)."""

    @property
    def keeps_places(self) -> bool:
        """Whether it does so with its present parameters."""
        ...


@runtime_checkable
class CutsTexts(Protocol):
    """A task that cuts long texts into what the model is good for, which its answers depend on.

    With `keeps_parts` the answers about the parts of a row are worth keeping until the row has
    its own, so that a job that is ended in the middle of a long text goes on there.
    """

    @property
    def keeps_parts(self) -> bool:
        """Whether a row can be long work."""
        ...


@runtime_checkable
class Learner(Task, Protocol):
    """A task that looks at the first texts of a job before it answers any of them.

    Its answers then depend on what it has learnt, so a job writes that into its journal and a
    resumed one takes it from there.
    """

    def study_rows(self, backend: Backend) -> int:
        """How many different texts it wants to see on this backend; 0 for none."""
        ...

    @property
    def least_study_rows(self) -> int:
        """With fewer it learns nothing, and answers as it would a single item."""
        ...

    def study_task(self) -> Task:
        """What is done to each of these texts."""
        ...

    def learnt(self, answers: Sequence[Answer]) -> Json:
        """The finding, from the study's answers."""
        ...

    def told(self, finding: Json) -> str:
        """The finding in a sentence, for the summary of a job."""
        ...

    def knowing(self, finding: Json, answers: Mapping[str, Answer]) -> Task:
        """The task with its finding. `answers` by text are used once each instead of asking."""
        ...


class Accounts(Protocol):
    """Adds up what the result lines of a job say. They are the journal's in a resumed job too."""

    @property
    def name(self) -> str:
        """The key of `as_dict` in the summary."""
        ...

    def add(self, line: Mapping[str, Json], *, repeated: bool) -> None:
        """Count a result line; `repeated` if an identical row's answer was counted before."""
        ...

    def as_dict(self) -> dict[str, Json]:
        """For machines."""
        ...

    def facts(self) -> list[tuple[str, str]]:
        """Name and value of what is worth telling, in order."""
        ...

    def notes(self) -> list[str]:
        """Sentences that somebody should read."""
        ...


@runtime_checkable
class Accountable(Task, Protocol):
    """A task with more to tell of a job than how many rows were answered."""

    def accounts(self, backend: Backend) -> Accounts:
        """Accounts of a job, with nothing in them yet."""
        ...
