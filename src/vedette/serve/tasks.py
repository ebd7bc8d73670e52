"""`POST /v1/tasks/TASK`: every task of vedette over the inputs of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import orjson
from fastapi import APIRouter, Path
from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse, Response

from vedette.config import nearest
from vedette.errors import VedetteError
from vedette.types import Json

from .body import Body
from .errands import Errands
from .facts import Facts
from .fields import LoraScale
from .problems import Refusal
from .red_lines import refuse_red_lines
from .task_replies import TaskEntry, TaskList, TaskResult, TaskResults
from .verb_call import call
from .verbs.options import BadOption
from .verbs.table import VERBS, Verb

TaskName = Annotated[str, Path(json_schema_extra={"enum": [*VERBS]})]


class TaskBody(Body):
    """One input, or several, and the options of the task."""

    input: Any = None
    inputs: list[Any] | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    model: str | None = None
    lora: list[LoraScale] | None = None
    force: bool = False
    refused: ClassVar = {"stream": ((False,), "a task's answer comes whole")}

    @property
    def values(self) -> list[Json]:
        """The inputs. Raises `Refusal` for none, and for both."""
        if (self.input is None) == (self.inputs is None):
            raise Refusal("give either input or inputs", param="input")
        values = [self.input] if self.inputs is None else self.inputs
        if not values:
            raise Refusal("inputs: there is none in the list", param="inputs")
        return values


def task_router(facts: Facts, errands: Errands) -> APIRouter:
    """The routes, over a server's backend."""
    router = APIRouter(prefix="/v1/tasks")

    @router.get("", response_model=TaskList)
    async def listed() -> JSONResponse:
        """All tasks, with what each takes."""
        found = await asyncio.to_thread(lambda: [entry_of(verb) for verb in VERBS.values()])
        return JSONResponse({"object": "list", "data": found})

    @router.get("/{task}", response_model=TaskEntry)
    async def told(task: TaskName) -> JSONResponse:
        """A task, with what it takes."""
        return JSONResponse(await asyncio.to_thread(entry_of, _verb(task)))

    @router.post("/{task}", response_model=TaskResult | TaskResults)
    async def run(task: TaskName, body: TaskBody, http: HttpRequest) -> Response:
        """A task over one input, or over several."""
        verb = _verb(task)
        model = facts.model if body.model is None else body.model
        adapters = facts.adapters(model, body.lora)
        values = body.values
        is_one = body.inputs is None
        if verb.together and is_one:
            raise Refusal(f"{task} compares inputs with each other; give inputs", param="input")
        try:
            if facts.options.red_lines and not body.force:
                work = await asyncio.to_thread(verb.task, body.options)
                await asyncio.to_thread(refuse_red_lines, task, body.options, work)
            found = await call(errands, http, verb, values, body.options, adapters)
        except BadOption as error:
            raise Refusal(str(error), param=f"options.{error.place}") from error
        if is_one and found.error is not None:
            raise found.error
        return Response(_written(model, found.lines, is_one=is_one), media_type="application/json")

    return router


def entry_of(verb: Verb) -> dict[str, Any]:
    """What is told of a task: JSON Schemas of its inputs and of its options.

    Where an extra is not installed, `unavailable` says which in place of the options.
    """
    entry: dict[str, Any] = {
        "id": verb.name,
        "object": "task",
        "description": verb.summary,
        "input": verb.form.schema,
    }
    try:
        return {**entry, "options": verb.options.schema}
    except VedetteError as error:
        return {**entry, "unavailable": str(error)}


def _verb(name: str) -> Verb:
    if name not in VERBS:
        meant = nearest(name, VERBS)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(VERBS)}"
        raise Refusal(f"there is no task {name!r} ({hint})", status=404, code="not_found")
    return VERBS[name]


def _written(model: str, lines: Sequence[bytes], *, is_one: bool) -> bytes:
    """The result line, or an object of all."""
    if is_one:
        return lines[0]
    return b'{"model":' + orjson.dumps(model) + b',"results":[' + b",".join(lines) + b"]}"
