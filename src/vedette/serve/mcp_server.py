"""The tasks as tools of the Model Context Protocol. Needs the extra `mcp`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, cast

import orjson
from anyio import AsyncFile
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.applications import Starlette

from vedette.errors import CapabilityMissing, InputError, VedetteError
from vedette.types import Json

from .door import Door
from .errands import Errands
from .facts import Facts
from .guard import Guard
from .stdin_lines import StdinLines
from .verb_call import call
from .verbs.table import Verb, find_verb

PATH = "/mcp"
INSTRUCTIONS = (
    "Tasks of a small local model. Give `input`, one text (or object), or `inputs`, several: then "
    "each has a result of its own, in order, and one that has `ok` false says why."
)

_ANY_HOST = "0.0.0.0"  # the SDK then leaves it to the door which hosts may be named


def create_server(facts: Facts, verbs: Iterable[Verb]) -> Server[Any]:
    """The MCP server with these tasks over the backend of `facts`.

    A task whose extra is not installed is no tool.
    """
    errands = Errands(facts)
    tools = {tool.name: (tool, verb) for verb in verbs if (tool := _tool(verb)) is not None}

    async def list_tools(
        _: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        del params  # one page holds them all
        return ListToolsResult(tools=[tool for tool, _ in tools.values()])

    async def call_tool(
        _: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            verb = tools[params.name][1] if params.name in tools else find_verb(params.name)
            if params.name not in tools:
                raise InputError(f"the task {verb.name} is not offered here")
            return await _called(errands, verb, params.arguments or {})
        except VedetteError as error:
            return _failed(error)

    return Server(
        "vedette",
        version=version("vedette"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Answer on stdin and stdout until the client closes them."""
    lines = cast("AsyncFile[str]", StdinLines())  # only iterated over
    async with stdio_server(stdin=lines) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def create_http_app(server: Server[Any], facts: Facts, *, has_key: bool) -> Starlette:
    """The server at `PATH`, over streamable HTTP, behind the same door as `vedette serve`.

    `has_key` says whether clients must show a key. The app's lifespan must be run. Raises what
    `Guard` raises.
    """
    options = facts.options
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=options.max_body_bytes,
        # Without a key only this machine is let in, and pages of its own.
        host=_ANY_HOST if has_key else "127.0.0.1",
    )
    app.add_middleware(Door, options=options, guard=Guard(options), metrics=facts.metrics)
    return app


def _tool(verb: Verb) -> Tool | None:
    try:
        options = dict(verb.options.schema)
    except CapabilityMissing:
        return None
    item = verb.form.schema
    several = {"type": "array", "minItems": 1, "items": item, "description": "Several inputs."}
    inputs = {"inputs": several}
    if not verb.together:
        inputs = {"input": {**item, "description": "One input."}, **inputs}
    options["properties"] = {**inputs, **options["properties"]}
    return Tool(
        name=verb.name,
        description=verb.summary,
        input_schema=options,
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


async def _called(errands: Errands, verb: Verb, arguments: Mapping[str, Json]) -> CallToolResult:
    options = dict(arguments)
    one, several = options.pop("input", None), options.pop("inputs", None)
    if (one is None) == (several is None):
        raise InputError("give either input or inputs")
    if one is not None:
        if verb.together:
            raise InputError(f"{verb.name} compares inputs with each other; give inputs")
        found = await call(errands, None, verb, [one], options)
        if found.error is not None:
            raise found.error
        return _said(orjson.loads(found.lines[0]))
    if not isinstance(several, list) or not several:
        raise InputError("inputs must be a list of at least one")
    found = await call(errands, None, verb, several, options)
    return _said({"results": [orjson.loads(line) for line in found.lines]})


def _said(body: dict[str, Any]) -> CallToolResult:
    text = orjson.dumps(body).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=body)


def _failed(error: VedetteError) -> CallToolResult:
    """An error that the model can read, and mend its call by."""
    text = f"{error.code}: {error}"
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
