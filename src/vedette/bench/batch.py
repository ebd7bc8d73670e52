"""`vedette bench batch`: extraction over a file, vedette against a llama-server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import jsonschema_rs
import orjson

from vedette.errors import InputError
from vedette.tasks.extract import Extract
from vedette.tasks.merge import merge
from vedette.types import Json, Request, Usage

from .binding import Binding
from .bodies import text_body
from .client import PeerReply
from .contest import Say
from .keywords import Given, keywords_in, plain_schema
from .measurement import Measurement, Prepared
from .questions import Question, Questions
from .report import BindingReport, Judge, KeywordReport, Report
from .runs import Reply
from .served import PeerJob, Read


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchBench(Measurement):
    """A measurement to be made. `expected` is the right answer by item id.

    `keywords` says whether the peer is told too what vedette's own keywords say of a row; "none"
    wants a task without them.
    `binding_items` first items also go through llama-cpp-python's own call; 0 leaves it out.
    """

    task: Extract
    expected: Mapping[str, Json] = field(default_factory=dict)
    keywords: Given = "ours"
    binding_items: int = 0

    def run(self, say: Say) -> Report:
        """Measure. Raises what is wrong with the input first, `EngineFailed` for the peer."""
        prepared = self.prepare(self.task, say)
        questions = prepared.questions
        check_expected(self.expected, questions)
        job = PeerJob(
            items=tuple(tuple(map(self._body, _texts(question))) for question in questions.asked),
            warmup=tuple(self._body(_texts(question)[0]) for question in prepared.warmup),
            read=reader(self.task.schema),
        )
        contest = self.contest(self.task, prepared, job, say)
        schema = plain_schema(self.task.schema)
        validator = jsonschema_rs.validator_for(schema, validate_formats=True)
        judge = Judge(validator=validator, expected=self.expected)
        binding = self._against_binding(prepared, judge, say) if self.binding_items else None
        return self.report("batch", prepared, contest, judge, self._keywords(), binding)

    def _body(self, request: Request) -> bytes:
        return text_body(request, grounded=self.keywords == "both")

    def _keywords(self) -> KeywordReport:
        return KeywordReport(given=self.keywords, used=keywords_in(self.task.schema))

    def _against_binding(self, prepared: Prepared, judge: Judge, say: Say) -> BindingReport:
        """Vedette and the binding on the first items only, as the binding is slow."""
        asked = prepared.questions.asked[: self.binding_items]
        items = prepared.questions.items[: self.binding_items]
        ours = self.engine.run(self.task, items)
        side = Binding(
            model=prepared.path,
            threads=self.engine.options.threads,
            context_tokens=prepared.slot_tokens,
        )
        grounded = self.keywords == "both"
        requests = [_texts(question) for question in asked]
        theirs = side.run(
            _texts(prepared.warmup[0])[0], requests, reader(self.task.schema), grounded=grounded
        )
        say(f"first {len(items)} items: {ours.side} {ours.items_per_s:.2f} items/s")
        say(f"first {len(items)} items: {theirs.side} {theirs.items_per_s:.2f} items/s")
        return BindingReport(
            items=len(items),
            binding=judge.side([theirs], items),
            vedette=judge.side([ours], items),
            ratio=ours.items_per_s / theirs.items_per_s,
        )


def reader(schema: dict[str, Json]) -> Read:
    """How the texts for one item become its value: parsed, and merged as the task does."""

    def read(replies: Sequence[PeerReply]) -> Reply:
        usage = sum((reply.usage for reply in replies), Usage())
        values: list[Json] = []
        for reply in replies:
            if reply.error:
                return Reply(error=reply.error, usage=usage)
            try:
                values.append(orjson.loads(reply.text))
            except orjson.JSONDecodeError:
                reason = "cut off" if reply.finish_reason == "length" else "not JSON"
                return Reply(error=f"the answer is {reason}", usage=usage)
        return Reply(value=values[0] if len(values) == 1 else merge(values, schema), usage=usage)

    return read


def check_expected(expected: Mapping[str, Json], questions: Questions) -> None:
    """Raises `InputError` if there are right answers, but to none of these items."""
    ids = {item.id for item in questions.items}
    if expected and ids.isdisjoint(expected):
        raise InputError(
            f"no expected id is an item's id: the first are {next(iter(expected))!r} expected "
            f"and {questions.items[0].id!r} asked",
            hint="ids are those of the rows, or their 1-based numbers",
        )


def _texts(question: Question) -> list[Request]:
    return [ask for ask in question.asks if isinstance(ask, Request)]
