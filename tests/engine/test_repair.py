"""An answer that only its check refuses is taken up again at the value that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from engine_helpers import answer, answers, ask, assert_nothing_leaked, small_options

from vedette.engine.constraint.json_schema import Fault
from vedette.engine.core import EngineCore
from vedette.engine.repair import MOST_REPAIRS, Repair, span_of
from vedette.errors import ConstraintFailed, VedetteError
from vedette.types import Completion, Constraint, Sampling

UNIQUE = {
    "type": "object",
    "properties": {
        "first": {"type": "integer", "minimum": 0, "maximum": 99},
        "tags": {
            "type": "array",
            "items": {"type": "string", "maxLength": 2},
            "minItems": 3,
            "maxItems": 5,
            "uniqueItems": True,
        },
    },
    "required": ["first", "tags"],
}


@pytest.fixture(scope="module")
def engine(tiny_full: Path) -> Iterator[EngineCore]:
    with EngineCore(tiny_full, small_options(cells=8192)) as engine:
        yield engine
        assert_nothing_leaked(engine)


def outcomes(
    engine: EngineCore, schema: dict[str, Any], n: int, **fields: Any
) -> list[Completion | VedetteError]:
    constraint = Constraint("json_schema", json.dumps(schema))
    tickets = [
        engine.submit(
            ask(
                f"text {i}",
                constraint=constraint,
                max_tokens=80,
                sampling=Sampling(temperature=1.0, seed=i),
                **fields,
            )
        )
        for i in range(n)
    ]
    found: list[Completion | VedetteError] = []
    for ticket in tickets:
        try:
            found.append(ticket.result(60))
        except VedetteError as error:
            found.append(error)
    return found


@pytest.mark.parametrize("logprobs", [False, True])
def test_most_answers_are_mended_and_none_is_wrong(
    engine: EngineCore, monkeypatch: pytest.MonkeyPatch, logprobs: bool
) -> None:
    mended = outcomes(engine, UNIQUE, 60, logprobs=logprobs)
    monkeypatch.setattr("vedette.engine.repair.MOST_REPAIRS", 0)
    unmended = outcomes(engine, UNIQUE, 60, logprobs=logprobs)
    for outcome in (*mended, *unmended):
        if isinstance(outcome, Completion):
            jsonschema_rs.validate(UNIQUE, json.loads(outcome.text))
            if logprobs:
                written = "".join(entry.text for entry in outcome.logprobs)
                assert "\ufffd" in written or written == outcome.text
        else:
            assert isinstance(outcome, ConstraintFailed)
    failed = [sum(isinstance(o, VedetteError) for o in group) for group in (mended, unmended)]
    assert failed[0] < failed[1]


def test_what_may_be_rewritten_is_not_shown_before_it_is_checked(engine: EngineCore) -> None:
    ticket = engine.submit(
        ask("text 1", constraint=Constraint("json_schema", json.dumps(UNIQUE)), max_tokens=80)
    )
    try:
        pieces = list(ticket)
    except ConstraintFailed:
        return
    assert len(pieces) == 1
    jsonschema_rs.validate(UNIQUE, json.loads(pieces[0]))


def test_a_memory_that_cannot_go_back_ends_with_an_error_or_a_valid_answer(
    tiny_recurrent: Path,
) -> None:
    with EngineCore(tiny_recurrent, small_options()) as engine:
        for outcome in outcomes(engine, UNIQUE, 12):
            if isinstance(outcome, Completion):
                jsonschema_rs.validate(UNIQUE, json.loads(outcome.text))
            else:
                assert isinstance(outcome, ConstraintFailed)
        assert_nothing_leaked(engine)


def test_the_engine_goes_on_after_an_answer_that_cannot_be_mended(engine: EngineCore) -> None:
    only = {"type": "array", "items": {"const": "a"}, "minItems": 2, "uniqueItems": True}
    hopeless = {
        **only,
        "maxItems": 2,
        "items": {"type": "string", "pattern": "^a+$", "maxLength": 1},
    }
    for schema in (only, hopeless):
        constraint = Constraint("json_schema", json.dumps(schema))
        with pytest.raises(VedetteError):
            answer(engine, ask("x", constraint=constraint, max_tokens=40))
    assert answers(engine, [ask("x", max_tokens=3)])[0].text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), '{"a":[1,{"b":"é,]"}],"c":{"d":-2.5}}'),
        (("a",), '[1,{"b":"é,]"}]'),
        (("a", 0), "1"),
        (("a", 1, "b"), '"é,]"'),
        (("c", "d"), "-2.5"),
    ],
)
def test_the_place_of_a_value_is_found(path: tuple[str | int, ...], value: str) -> None:
    text = '{"a":[1,{"b":"é,]"}],"c":{"d":-2.5}}'
    start, end = span_of(text, path)
    assert text.encode()[start:end].decode() == value


@pytest.mark.parametrize("path", [("x",), ("a", 7), ("c", "d", "e")])
def test_a_place_that_is_not_there_is_an_error(path: tuple[str | int, ...]) -> None:
    with pytest.raises((ValueError, IndexError, KeyError)):
        span_of('{"a":[1],"c":{"d":2}}', path)


def test_repair_changes_the_first_choice_within_the_value_and_gives_up_in_the_end() -> None:
    repair = Repair()
    pieces = [b'{"a":', b"[", b"1", b",", b"1", b"]", b"}"]
    fault = Fault("twice", ("a", 1))
    for n in range(MOST_REPAIRS):
        assert repair.token_to_change(fault, '{"a":[1,1]}', pieces, [2, 3, 4, 5]) == 4
        repair.ban(4, n)
    assert repair.banned_at(4) == set(range(MOST_REPAIRS))
    assert repair.token_to_change(fault, '{"a":[1,1]}', pieces, [2, 3, 4, 5]) is None


def test_about_a_whole_list_the_last_choice_is_changed() -> None:
    pieces = [b'{"a":', b"[", b"1", b",", b"1", b"]", b"}"]
    fault = Fault("no 2 in it", ("a",), is_container=True)
    assert Repair().token_to_change(fault, '{"a":[1,1]}', pieces, [2, 3, 4, 5]) == 5
