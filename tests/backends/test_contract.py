"""What every backend promises, on the same tiny model: in process, a llama-server, its /v1."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import orjson
import pytest

from vedette.backends.base import Backend
from vedette.batch import Job, Source, run
from vedette.engine.constraint.checker import Checker
from vedette.errors import (
    BudgetTooSmall,
    Cancelled,
    CapabilityMissing,
    ConstraintFailed,
    DeadlineExceeded,
    InputError,
    InputTooLong,
    LabelError,
    SchemaError,
)
from vedette.tasks.classify import Classify
from vedette.tasks.extract import Extract
from vedette.tasks.labels import Label
from vedette.types import Constraint, Message, Prompt, Request, SchemaOptions, ScoreRequest

SCHEMA = {
    "type": "object",
    "properties": {
        "level": {"enum": ["INFO", "WARN"]},
        "count": {"type": "integer", "minimum": 3, "maximum": 70},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
    },
    "required": ["level", "count", "tags"],
}
CONSTRAINTS = {
    "json_schema": Constraint("json_schema", orjson.dumps(SCHEMA).decode()),
    "root is a list": Constraint(
        "json_schema", '{"type":"array","items":{"enum":[1,2]},"maxItems":2}'
    ),
    "choice": Constraint("choice", '["great", "awful", "一般"]'),
    "regex": Constraint("regex", r"[0-9]{3}-(foo|bar)\.[a-c]?"),
    "gbnf": Constraint("gbnf", 'root ::= "ab" | "c" [d-f]'),
    "lark": Constraint("lark", 'start: "a" | "b"'),
    "one of the input": Constraint(
        "json_schema",
        '{"type":"object","properties":{"id":{"type":"string","x-one-of-input":"[a-z]+-[0-9]"}},'
        '"required":["id"]}',
        "WARN on db-2 and web-1",
    ),
    "evidence": Constraint(
        "json_schema",
        '{"type":"object","properties":{"level":{"enum":["A","B"],"x-evidence":{"A":"alpha"}}},'
        '"required":["level"]}',
        "beta only",
    ),
    "verbatim": Constraint(
        "json_schema",
        '{"type":"object","properties":{"w":{"type":"string","x-verbatim":true}},"required":["w"]}',
        "some words",
    ),
}
LACKING = {
    "local": set(),
    "llama-server": {"lark", "verbatim"},
    "openai": {"lark", "verbatim", "gbnf"},
}
PROMPT = Prompt(messages=(Message("system", "Say it."), Message("user", "hello 世界")))


def asking(constraint: Constraint | None = None, *, text: str = "", **options) -> Request:
    prompt = Prompt(messages=(Message("user", text),)) if text else PROMPT
    return Request(prompt=prompt, constraint=constraint, **{"max_tokens": 400, **options})


@pytest.fixture
def kind(request) -> str:
    return request.node.callspec.params["backend"]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_an_answer_keeps_to_its_constraint_or_the_constraint_is_refused(backend, kind, name):
    constraint = CONSTRAINTS[name]
    if name in LACKING[kind]:
        for ask in (backend.check, backend.submit):
            with pytest.raises(CapabilityMissing) as refused:
                ask(asking(constraint))
            assert refused.value.hint
        return
    backend.check(asking(constraint))
    completion = backend.submit(asking(constraint)).result(60)
    assert Checker().fault_of(constraint, completion.text) is None
    assert completion.finish_reason == "stop"
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (Constraint("json_schema", '{"type": 3}'), SchemaError),
        (Constraint("json_schema", "{"), SchemaError),
        (Constraint("choice", '["a", "a"]'), LabelError),
        (Constraint("regex", "(("), InputError),
    ],
)
def test_a_constraint_that_is_none_is_refused_at_once(backend, bad, error):
    for ask in (backend.check, backend.submit):
        with pytest.raises(error):
            ask(asking(bad))


def test_numbers_that_no_answer_can_be_made_with_are_refused_at_once(backend):
    with pytest.raises(InputError, match="max_tokens"):
        backend.submit(asking(CONSTRAINTS["choice"], max_tokens=0))


def test_a_budget_that_holds_no_answer_is_an_error_and_never_half_an_answer(backend):
    with pytest.raises((BudgetTooSmall, ConstraintFailed)):
        backend.submit(asking(CONSTRAINTS["json_schema"], max_tokens=2)).result(60)


def test_one_model_has_no_second_tier(backend):
    with pytest.raises(CapabilityMissing, match="no tier 1"):
        backend.submit(asking(tier=1))


def test_adapters_that_are_not_there_are_refused_and_never_left_out(backend, kind):
    refusal = InputError if kind == "local" else CapabilityMissing
    for ask in (backend.check, backend.submit):
        with pytest.raises(refusal, match="adapter 'terse'"):
            ask(asking(adapters=(("terse", 1.0),)))


def test_a_prompt_without_room_is_too_long(backend):
    with pytest.raises(InputTooLong):
        backend.submit(asking(CONSTRAINTS["choice"], text="日 word " * 5000)).result(60)


def test_a_deadline_that_has_passed_is_an_error(backend):
    with pytest.raises(DeadlineExceeded):
        backend.submit(asking(CONSTRAINTS["json_schema"], deadline_s=0.0)).result(60)


def test_the_iterator_gives_the_whole_text(backend):
    handle = backend.submit(asking(CONSTRAINTS["choice"]))
    assert "".join(handle) == handle.result(0).text


def test_a_callback_comes_once_when_the_answer_is_there_or_at_once_later(backend):
    handle, done = backend.submit(asking(CONSTRAINTS["choice"])), threading.Event()
    handle.on_done(done.set)
    assert done.wait(60)
    assert handle.result(0).text
    late: list[str] = []
    handle.on_done(lambda: late.append("called"))
    assert late == ["called"]


def test_an_answer_can_be_awaited_from_any_loop(backend):
    async def both():
        return await asyncio.gather(
            *(_awaited(backend, CONSTRAINTS[name]) for name in ("choice", "json_schema"))
        )

    for _ in range(2):
        assert all(completion.text for completion in asyncio.run(both()))


async def _awaited(backend: Backend, constraint: Constraint):
    return await backend.submit(asking(constraint))


def test_a_cancelled_request_ends_and_the_backend_goes_on(backend):
    handles = [backend.submit(asking(CONSTRAINTS["json_schema"])) for _ in range(12)]
    for handle in handles:
        handle.cancel()
    for handle in handles:
        with suppress(Cancelled):
            assert handle.result(60).text
    assert backend.submit(asking(CONSTRAINTS["choice"])).result(60).text


def test_cancelling_the_task_that_awaits_cancels_the_request(backend):
    async def given_up():
        handles = [backend.submit(asking(CONSTRAINTS["json_schema"])) for _ in range(40)]
        waiting = asyncio.gather(*(_waited(handle) for handle in handles))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return handles

    endings = [_ending(handle) for handle in asyncio.run(given_up())]
    assert "Cancelled" in endings
    assert set(endings) <= {"Cancelled", "answered"}


async def _waited(handle):
    return await handle


def _ending(handle) -> str:
    try:
        assert handle.result(60).text
    except Cancelled:
        return "Cancelled"
    return "answered"


def test_many_requests_at_once_each_get_their_own_answer(backend):
    asked = [Constraint("choice", f'["answer {n}"]') for n in range(20)]
    handles = [backend.submit(asking(constraint)) for constraint in asked]
    assert [handle.result(60).text for handle in handles] == [f"answer {n}" for n in range(20)]


def test_choices_are_scored_or_that_cannot_be_had(backend, local):
    # a label of several tokens, one that begins another one, and one that does not begin any
    choices = ("positive", "pos", "neutral 中文", "yes")
    request = ScoreRequest(prompt=PROMPT, choices=choices)
    if not backend.capabilities.can_score:
        for ask in (backend.check, backend.submit):
            with pytest.raises(CapabilityMissing, match="scores"):
                ask(request)
        return
    backend.check(request)
    scores, expected = backend.submit(request).result(60), local.submit(request).result(60)
    assert scores.choices == choices
    assert scores.logprobs == pytest.approx(expected.logprobs, abs=0.05)
    assert scores.usage.prompt_tokens == expected.usage.prompt_tokens


def test_it_says_what_it_is(backend, kind):
    assert backend.name
    assert orjson.dumps(backend.identity)
    assert backend.width >= 4
    assert backend.capabilities.can_constrain
    assert backend.capabilities.context_tokens >= 2048
    assert "hello 世界" in backend.show_prompt(asking())
    assert all(isinstance(count, int) for count in backend.counts.values())
    assert "127.0.0.1" not in str(backend.identity) or kind == "openai"


def test_longer_texts_have_more_tokens(backend):
    counts = [backend.count_tokens("level service 错误 " * n) for n in (0, 1, 5)]
    assert counts[0] == 0
    assert 0 < counts[1] < counts[2]


@pytest.mark.parametrize("option", [{"strict": True}, {"order": "any"}])
def test_an_option_of_a_schema_is_kept_or_refused(backend, kind, option):
    source = CONSTRAINTS["json_schema"].source
    request = asking(Constraint("json_schema", source, options=SchemaOptions(**option)))
    if kind == "local":
        backend.check(request)
        return
    with pytest.raises(CapabilityMissing):
        backend.check(request)


def test_the_report_promises_only_what_was_done(backend, kind):
    report = backend.submit(asking(CONSTRAINTS["json_schema"])).result(60).report
    verdicts = {entry.verdict for entry in report.keywords}
    assert verdicts == ({"enforced"} if kind == "local" else {"checked"})


def test_a_job_of_extraction_runs_on_it(backend, tmp_path):
    rows = tmp_path / "rows.txt"
    rows.write_text("INFO a\nWARN b\n服务 错误\n", "utf-8")
    out = tmp_path / "out.jsonl"
    task = Extract(SCHEMA, max_tokens=400)
    summary = run(Job(source=Source(paths=(str(rows),)), task=task, backend=backend, out=str(out)))
    assert (summary.items, summary.errors) == (3, 0)
    for line in out.read_bytes().splitlines():
        value = orjson.loads(line)["value"]
        assert Checker().fault_of(CONSTRAINTS["json_schema"], orjson.dumps(value).decode()) is None


def test_a_job_of_classification_runs_on_it_and_says_whether_it_scored(backend, tmp_path):
    rows = tmp_path / "rows.txt"
    rows.write_text("".join(f"row {n}\n" for n in range(20)))
    out = tmp_path / "out.jsonl"
    task = Classify((Label("positive"), Label("negative")))
    summary = run(Job(source=Source(paths=(str(rows),)), task=task, backend=backend, out=str(out)))
    assert (summary.items, summary.errors) == (20, 0)
    for line in out.read_bytes().splitlines():
        value = orjson.loads(line)["value"]
        assert value["label"] in task.names
        assert value.get("scored", True) is backend.capabilities.can_score
        assert (value["probability"] is not None) is backend.capabilities.can_score
