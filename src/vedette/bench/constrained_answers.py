"""Answers under schemas, one at a time, and what can be said of them."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import jsonschema_rs

from vedette.backends.local import LocalBackend
from vedette.errors import InputError, VedetteError
from vedette.types import Request, Usage

from .client import PeerReply
from .constrained_suite import SchemaCase
from .constrained_times import Quantiles, quantiles

Tell = Callable[[str], None]
Asked = Sequence[tuple[SchemaCase, Request]]

RUNAWAY = 1.3
"""An answer over that many times the median tokens of its schema has run away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: whether it is valid, what it took, and whether its length was cut."""

    schema: str
    valid: bool = False
    cut: bool = False
    error: str = ""
    usage: Usage = field(default_factory=Usage)
    wall_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """The answers of one side. `errors` has each reason and how often it was given.

    Tokens and latency are of the answers, errors left out. `cut` were ended by `max_tokens` or
    for a loop; `runaway` counts those, and the ones over 1.3 times their schema's median tokens.
    """

    asked: int
    valid: int
    errors: dict[str, int]
    tokens: Quantiles | None
    forced_share: float
    latency_ms: Quantiles | None
    cut: int
    runaway: int


def told(asked: Asked, side: str, tell: Tell) -> Iterator[tuple[SchemaCase, Request]]:
    """The requests, with a line about each new schema."""
    for number, pair in enumerate(asked, 1):
        if number == 1 or asked[number - 2][0] is not pair[0]:
            tell(f"{side}: {pair[0].name} ({number} of {len(asked)})")
        yield pair


def ours(case: SchemaCase, request: Request, backend: LocalBackend) -> Reply:
    """Vedette's answer to one request, timed from its submission."""
    started = time.perf_counter()
    try:
        completion = backend.submit(request).result()
    except VedetteError as error:
        return Reply(schema=case.name, error=f"{error.code}: {error.message}")
    return Reply(
        schema=case.name,
        valid=is_valid(case, completion.text),
        cut=completion.cut is not None or completion.finish_reason == "length",
        usage=completion.usage,
        wall_ms=(time.perf_counter() - started) * 1000,
    )


def theirs(case: SchemaCase, reply: PeerReply) -> Reply:
    """The peer's answer to the same."""
    return Reply(
        schema=case.name,
        valid=not reply.error and is_valid(case, reply.text),
        cut=reply.finish_reason == "length",
        error=reply.error,
        usage=reply.usage,
        wall_ms=reply.wall_ms,
    )


def check_validators(cases: Sequence[SchemaCase]) -> None:
    """Raise `InputError` for a schema with prompts under which no answer could be judged."""
    for case in cases:
        if case.prompts:
            try:
                _validator(case)
            except (ValueError, jsonschema_rs.ReferencingError) as error:
                reason = " ".join(str(error).split())
                raise InputError(
                    f"{case.name} has prompts, but a validator cannot use its schema: {reason}"
                ) from error


def is_valid(case: SchemaCase, text: str) -> bool:
    """Whether a text is JSON that a validator accepts."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return bool(_validator(case).is_valid(value))


def _validator(case: SchemaCase) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(case.schema, validate_formats=case.formats, offline=True)


def answer_report(replies: Sequence[Reply]) -> AnswerReport:
    """What can be said of the answers of one side, which stand schema by schema."""
    answered = [reply for reply in replies if not reply.error]
    written = sum((reply.usage for reply in answered), Usage())
    errors: dict[str, int] = {}
    for reply in replies:
        if reply.error:
            errors[reply.error] = errors.get(reply.error, 0) + 1
    return AnswerReport(
        asked=len(replies),
        valid=sum(reply.valid for reply in replies),
        errors=errors,
        tokens=quantiles([reply.usage.completion_tokens for reply in answered]),
        forced_share=written.forced_tokens / max(1, written.completion_tokens),
        latency_ms=quantiles([reply.wall_ms for reply in answered]),
        cut=sum(reply.cut for reply in answered),
        runaway=sum(1 for _ in _runaways(answered)),
    )


def _runaways(answered: Sequence[Reply]) -> Iterator[Reply]:
    for _, group in groupby(answered, key=lambda reply: reply.schema):
        same = list(group)
        most = RUNAWAY * statistics.median(reply.usage.completion_tokens for reply in same)
        yield from (r for r in same if r.cut or r.usage.completion_tokens > most)
