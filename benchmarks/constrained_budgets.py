"""Does every answer under a schema end, within every budget that can hold one?

    python benchmarks/constrained_budgets.py [--model NAME] [--schemas 200] [--seed 1]

Schemas made at random (objects, lists, alternatives, references, patterns, formats, bounds), each
asked greedily, at temperature 1, and with budgets from the least that vedette names upwards. An
answer must parse, be valid under jsonschema-rs, and keep to its budget. The report counts refusals
of the schema, answers that were brought to an end (cut), and those over 1.3 times the median
tokens of their schema's uncut answers. Exit code: 0 all hold, 1 some do not, 2 cannot run.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
from common import say

from vedette.backends.local import LocalBackend
from vedette.errors import BudgetTooSmall, ConstraintFailed, SchemaError, VedetteError
from vedette.tasks.generate import Generate
from vedette.types import Completion, Constraint, Request, Sampling

BUDGET = 400
BEYOND_LEAST = (0, 1, 2, 4, 8, 16, 32, 64)
TEMPERED = 4
TOO_LONG = 1.3
WORDS = (
    *("name", "kind", "size", "colour", "owner", "city", "price", "count"),
    *("note", "status", "email", "day", "tags", "parts", "next"),
)
STRINGS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "string", "maxLength": 24},
    {"type": "string", "minLength": 3, "maxLength": 12},
    {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"},
    {"type": "string", "format": "date"},
    {"enum": ["low", "middle", "high"]},
    {"enum": ["alpha", "beta", None, 7]},
    {"const": "fixed value"},
)
NUMBERS: tuple[dict[str, Any], ...] = (
    {"type": "integer"},
    {"type": "integer", "minimum": 0, "maximum": 120},
    {"type": "number", "minimum": 0, "maximum": 10},
    {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 500},
    {"type": "boolean"},
    {"type": ["string", "null"], "maxLength": 10},
)


@dataclass(slots=True)
class Tally:
    """What came of it. `problems` are the broken promises, a sentence each."""

    schemas: int = 0
    refused: int = 0
    answers: int = 0
    cut: int = 0
    failed: int = 0
    too_long: int = 0
    problems: list[str] = field(default_factory=list)


def schema_of(rng: random.Random, depth: int) -> dict[str, Any]:
    """A random schema of at most so many levels."""
    roll = rng.random()
    if depth <= 0 or roll < 0.25:
        return dict(rng.choice(STRINGS if rng.random() < 0.6 else NUMBERS))
    if roll < 0.45:
        low = rng.randint(0, 2)
        items = schema_of(rng, depth - 1)
        bounds = {"minItems": low} if rng.random() < 0.5 else {}
        if rng.random() < 0.7:
            bounds["maxItems"] = low + rng.randint(1, 4)
        return {"type": "array", "items": items, **bounds}
    if roll < 0.55:
        return {"anyOf": [schema_of(rng, depth - 1) for _ in range(rng.randint(2, 3))]}
    names = rng.sample(WORDS, rng.randint(1, 6))
    required = [name for name in names if rng.random() < 0.7]
    return {
        "type": "object",
        "properties": {name: schema_of(rng, depth - 1) for name in names},
        "required": required,
    }


def whole_schema(number: int, seed: int) -> dict[str, Any]:
    """The schema of this number: an object at its root, now and then one that refers to itself."""
    rng = random.Random(seed * 100_003 + number)
    schema = schema_of(rng, 1 + number % 4)
    if schema.get("type") != "object":
        schema = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    if number % 10 == 9:
        schema["properties"]["next"] = {"anyOf": [{"type": "null"}, {"$ref": "#"}]}
    return schema


def requests_of(constraint: Constraint, budgets: list[int]) -> list[Request]:
    """A greedy one, some at temperature 1, and one for each budget."""
    task = Generate(constraint=constraint)
    prompt = task.prompt("A record of something in a shop.")
    plain = [Request(prompt=prompt, constraint=constraint, max_tokens=BUDGET)]
    for seed in range(TEMPERED):
        sampling = Sampling(temperature=1.0, seed=seed)
        plain.append(
            Request(prompt=prompt, constraint=constraint, max_tokens=BUDGET, sampling=sampling)
        )
    short = [Request(prompt=prompt, constraint=constraint, max_tokens=n) for n in budgets]
    return [*plain, *short]


def least_of(backend: LocalBackend, constraint: Constraint) -> int:
    """The least budget that is not refused at once."""
    request = requests_of(constraint, [1])[-1]
    try:
        backend.submit(request).result()
    except BudgetTooSmall as error:
        return int(error.message.split("an answer needs ")[1].split()[0])
    return 1


def try_schema(backend: LocalBackend, number: int, schema: dict[str, Any], tally: Tally) -> None:
    """All answers of one schema."""
    constraint = Constraint("json_schema", json.dumps(schema))
    tally.schemas += 1
    try:
        least = least_of(backend, constraint)
    except SchemaError as error:
        tally.refused += 1
        say(f"schema {number} is refused: {error}")
        return
    requests = requests_of(constraint, [least + n for n in BEYOND_LEAST])
    handles = [backend.submit(request) for request in requests]
    uncut: list[Completion] = []
    for request, handle in zip(requests, handles, strict=True):
        tally.answers += 1
        try:
            completion = handle.result()
        except ConstraintFailed:
            tally.failed += 1
            continue
        except VedetteError as error:
            tally.problems.append(f"schema {number}, {request.max_tokens} tokens: {error}")
            continue
        tally.problems += _faults(number, schema, request, completion)
        tally.cut += completion.cut is not None
        if completion.cut is None and request.max_tokens == BUDGET:
            uncut.append(completion)
    if uncut:
        lengths = [completion.usage.completion_tokens for completion in uncut]
        limit = TOO_LONG * statistics.median(lengths)
        tally.too_long += sum(length > limit for length in lengths)


def _faults(
    number: int, schema: dict[str, Any], request: Request, completion: Completion
) -> list[str]:
    faults = []
    try:
        jsonschema_rs.validate(schema, json.loads(completion.text))
    except (ValueError, jsonschema_rs.ValidationError) as error:
        faults.append(f"schema {number}: {str(error)[:120]}: {completion.text[:120]}")
    if completion.usage.completion_tokens > request.max_tokens + 1:  # and the token of the end
        faults.append(f"schema {number}: more than {request.max_tokens} tokens")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--schemas", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.schemas < 1:
        parser.error(f"--schemas is {args.schemas}; it must be at least 1")
    tally = Tally()
    try:
        backend = LocalBackend(args.model)
        try:
            for number in range(args.schemas):
                try_schema(backend, number, whole_schema(number, args.seed), tally)
                if (number + 1) % 20 == 0:
                    say(f"{number + 1} schemas, {len(tally.problems)} problems")
        finally:
            backend.close()
    except VedetteError as error:
        say(f"error: {error}")
        return 2
    print(
        f"{args.model}: {tally.schemas} schemas ({tally.refused} refused), {tally.answers} "
        f"answers, {tally.cut} brought to an end, {tally.failed} constraint_failed, "
        f"{tally.too_long} of the uncut ones over {TOO_LONG} times their schema's median, "
        f"{len(tally.problems)} problems"
    )
    for problem in tally.problems:
        print(f"  {problem}")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
