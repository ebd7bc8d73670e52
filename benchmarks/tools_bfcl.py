"""Tool calls of the Berkeley Function Calling Leaderboard: well-formed, and right?

    python benchmarks/tools_bfcl.py --simple FILE --answers FILE --irrelevance FILE \\
        [--model NAME] [--items 100] [--peer PATH] [--out answers.jsonl]

`--simple` has questions that one function answers, `--irrelevance` questions that the given
function does not. Right arguments are those of the answers file: each value one of those listed,
"" among them meaning that it may be left out; texts are compared without capitals and punctuation,
as BFCL does. With --peer the same questions go to a llama-server's chat endpoint with `tools`, one
at a time, as vedette's do. What it returns as `tool_calls` is judged; where there are none, once
more what a client could find in its text (JSON with name and arguments). Answers go to --out as
they come; a run that is begun again takes them from there.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
from common import print_report, say, table
from kept import Kept, json_lines

from vedette.backends.find_server import find_server
from vedette.backends.local import LocalBackend
from vedette.backends.server_process import ServerOptions
from vedette.batch.single import answer_item
from vedette.bench.peer import Peer
from vedette.errors import VedetteError
from vedette.tasks.tool import CallTools
from vedette.tasks.tool_defs import tools_of
from vedette.types import Item

SEED = 5
MOST_TOKENS = 256
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def json_schema(schema: Any) -> Any:
    """BFCL's Python type names as those of JSON Schema."""
    if isinstance(schema, list):
        return [json_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            if _TYPES.get(value, value) is not None:
                plain[key] = _TYPES.get(value, value)
        elif key == "properties":
            plain[key] = {name: json_schema(part) for name, part in value.items()}
        elif key not in ("default", "optional"):
            plain[key] = json_schema(value) if key == "items" else value
    return plain


def tools(row: dict) -> list[dict]:
    """A row's functions as OpenAI tool definitions."""
    return [
        {
            "type": "function",
            "function": {
                "name": function["name"],
                "description": function.get("description", ""),
                "parameters": json_schema(function["parameters"]),
            },
        }
        for function in row["function"]
    ]


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return _plain(value) == _plain(wanted)
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_same, value, wanted))
    if isinstance(value, dict) and isinstance(wanted, dict):
        return _fits(value, wanted)
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def _plain(text: str) -> str:
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')


def _fits(arguments: dict, wanted: dict) -> bool:
    """Whether the arguments are among those listed."""
    if not arguments.keys() <= wanted.keys():
        return False
    for name, values in wanted.items():
        if name not in arguments:
            if "" not in values:
                return False
        elif not any(_same(arguments[name], value) for value in values):
            return False
    return True


def judge(row: dict, calls: list[dict], truth: dict | None) -> dict[str, bool]:
    """What is so of one answer."""
    schemas = {t["function"]["name"]: t["function"]["parameters"] for t in tools(row)}
    well_formed = all(
        isinstance(call.get("arguments"), dict)
        and call.get("name") in schemas
        and jsonschema_rs.is_valid(schemas[call["name"]], call["arguments"])
        for call in calls
    )
    name = arguments = False
    if truth is not None and len(calls) == 1 and well_formed:
        ((right, wanted),) = truth.items()
        name = calls[0]["name"] == right
        arguments = name and _fits(calls[0]["arguments"], wanted)
    return {
        "well_formed": well_formed,
        "called": bool(calls),
        "name": name,
        "arguments": arguments,
    }


def ours(backend: LocalBackend, row: dict) -> dict:
    """The calls that vedette writes."""
    task = CallTools(tools_of(tools(row)))
    text = row["question"][0][0]["content"]
    try:
        answer = answer_item(task, Item(id=row["id"], text=text), backend)
    except VedetteError as error:
        return {"calls": [], "error": f"{error.code}: {error}"}
    return {"calls": answer.value["calls"], "none": answer.extra.get("none_probability")}


def theirs(client: httpx2.Client, row: dict) -> dict:
    """The calls that a llama-server writes."""
    body = {
        "messages": row["question"][0],
        "tools": tools(row),
        "temperature": 0,
        "max_tokens": MOST_TOKENS,
    }
    response = client.post("/v1/chat/completions", json=body)
    if response.status_code != 200:
        return {"calls": [], "read": [], "error": response.text[:200]}
    message = response.json()["choices"][0]["message"]
    calls = []
    for call in message.get("tool_calls") or []:
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            arguments = None
        calls.append({"name": call["function"]["name"], "arguments": arguments})
    return {"calls": calls, "read": calls or calls_in(message.get("content") or "")}


_FENCED = re.compile(r"^\s*```(?:json)?\s*(.*?)```", re.DOTALL)


def calls_in(content: str) -> list[dict]:
    """The call that a client might still find in a text: JSON with name and arguments, first."""
    fenced = _FENCED.match(content)
    try:
        call, _ = json.JSONDecoder().raw_decode((fenced[1] if fenced else content).strip())
    except ValueError:
        return []
    is_call = isinstance(call, dict) and "name" in call and "arguments" in call
    return [{"name": call["name"], "arguments": call["arguments"]}] if is_call else []


Rows = list[tuple[dict, dict | None]]


def chosen(args: argparse.Namespace) -> Rows:
    """As many of either kind, the same ones each time, with what is right."""
    found: Rows = []
    lines = json_lines(args.answers, "id", "ground_truth")
    truths = {line["id"]: line["ground_truth"][0] for line in lines}
    for path in (args.simple, args.irrelevance):
        rows = json_lines(path, "id", "question", "function")
        picked = random.Random(SEED).sample(rows, min(args.items, len(rows)))
        found += [(row, truths.get(row["id"])) for row in picked]
    return found


def ask_all(side: str, rows: Rows, ask: Callable[[dict], dict], kept: Kept) -> list[dict]:
    """Every answer of one side, those that are kept as they are."""
    answers = []
    for count, (row, truth) in enumerate(rows, 1):
        key = f"{side} {row['id']}"
        answer = kept.get(key)
        if answer is None:
            begun = time.perf_counter()
            answer = ask(row)
            answer["s"] = time.perf_counter() - begun
            kept.add(key, answer)
        answers.append(
            {**answer, **judge(row, answer["calls"], truth), "simple": truth is not None}
        )
        if count % 25 == 0:
            say(f"{side}: {count} of {len(rows)}")
    return answers


def line_of(side: str, answers: list[dict]) -> tuple[str, ...]:
    """One row of the report."""
    simple = [answer for answer in answers if answer["simple"]]
    others = [answer for answer in answers if not answer["simple"]]

    def share(part: list[dict], key: str, *, wanted: bool = True) -> str:
        return f"{100 * sum(a[key] == wanted for a in part) / len(part):.1f}%" if part else "-"

    return (
        side,
        share(answers, "well_formed"),
        str(sum("error" in answer for answer in answers)),
        share(simple, "called"),
        share(simple, "name"),
        share(simple, "arguments"),
        share(others, "called", wanted=False),
        f"{sum(answer['s'] for answer in answers) / len(answers):.2f}",
    )


def measure(args: argparse.Namespace, rows: Rows, kept: Kept) -> list[tuple[str, ...]]:
    """The rows of the report, a side each."""
    backend = LocalBackend(args.model)
    try:
        answers = ask_all("vedette", rows, lambda row: ours(backend, row), kept)
        model, threads = backend.engine.model.path, backend.engine.options.threads
    finally:
        backend.close()
    lines = [line_of("vedette", answers)]
    if args.peer:
        with (
            Peer(
                find_server(args.peer), model, ServerOptions(threads=threads, cpu_only=True)
            ) as peer,
            httpx2.Client(base_url=peer.url, timeout=600, trust_env=False) as client,
        ):
            answers = ask_all("llama-server", rows, lambda row: theirs(client, row), kept)
        lines.append(line_of("llama-server", answers))
        read = [
            {**answer, **judge(row, answer["read"], truth)}
            for answer, (row, truth) in zip(answers, rows, strict=True)
        ]
        lines.append(line_of("llama-server, its text read for a call", read))
    return lines


def report(args: argparse.Namespace) -> str:
    """The table, with what it is about."""
    rows = chosen(args)
    lines = measure(args, rows, Kept(args.out, {"benchmark": "tools_bfcl", "model": args.model}))
    head = ("side", "well-formed", "errors", "called", "name", "name and arguments")
    return (
        f"{args.model}, {args.items} questions of each kind\n"
        f"{table((*head, 'none where irrelevant', 's each'), lines)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--simple", "--answers", "--irrelevance"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--items", type=int, default=100, help="of each kind")
    parser.add_argument("--peer")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.items < 1:
        parser.error(f"--items is {args.items}; it must be at least 1")
    return print_report(lambda: report(args))


if __name__ == "__main__":
    sys.exit(main())
