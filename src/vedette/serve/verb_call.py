"""One call of a task: inputs and options as JSON in, result lines out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from fastapi import Request as HttpRequest

from vedette.batch.results import Outcome, body_of, line_of
from vedette.errors import InputError, VedetteError
from vedette.types import AdapterScales, Item, Json

from .errands import Errands
from .verbs.table import Verb
from .verbs.together import Together


@dataclass(frozen=True, slots=True)
class Results:
    """What came of each input, in order: its id and its outcome."""

    rows: tuple[tuple[str, Outcome], ...]

    @property
    def lines(self) -> list[bytes]:
        """As in the output of a batch job."""
        return [line_of(name, body_of(outcome)) for name, outcome in self.rows]

    @property
    def error(self) -> VedetteError | None:
        """That of a single input."""
        (outcome,) = (outcome for _, outcome in self.rows)
        return outcome if isinstance(outcome, VedetteError) else None


async def call(
    errands: Errands,
    http: HttpRequest | None,
    verb: Verb,
    values: Sequence[Json],
    options: Mapping[str, Json],
    adapters: AdapterScales = (),
) -> Results:
    """Run a task over inputs. An input that is none, or has no answer, is its error.

    Raises what is wrong with the options or with the whole, and what `Errands.outcomes` raises.
    """
    _check_json(values)
    work = await asyncio.to_thread(verb.task, options)
    inputs = _inputs(verb, values, all_needed=isinstance(work, Together))
    items = [one for one in inputs if isinstance(one, Item)]
    answers = iter(await errands.outcomes(http, work, items, adapters=adapters) if items else ())
    rows: list[tuple[str, Outcome]] = []
    for number, one in enumerate(inputs, start=1):
        if isinstance(one, Item):
            rows.append((one.id, next(answers)))
        else:
            rows.append((str(number), one))
    return Results(tuple(rows))


def _check_json(values: Sequence[Json]) -> None:
    """Raises `InputError` for what JSON by RFC 8259 cannot say, such as half a surrogate pair."""
    try:
        orjson.dumps(values)
    except orjson.JSONEncodeError as error:
        raise InputError(f"the input cannot be written as JSON: {error}") from error


def _inputs(verb: Verb, values: Sequence[Json], *, all_needed: bool) -> list[Item | InputError]:
    """The items, and of inputs that are none the error, which is raised if all are needed."""
    found: list[Item | InputError] = []
    for number, value in enumerate(values, start=1):
        try:
            found.append(verb.form.item(value, number))
        except InputError as error:
            if all_needed:
                raise InputError(f"input {number}: {error.message}", hint=error.hint) from error
            found.append(error)
    return found
