"""Several adapters on one engine: each request is answered under its own, whoever else is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from engine_helpers import (
    WAIT_S,
    answer,
    answers,
    ask,
    assert_nothing_leaked,
    assert_same_but_for_ties,
    chat,
    small_options,
    wait_until_idle,
)

from tiny_gguf import TINY_KINDS, TinyKind
from tiny_lora import ARCHITECTURES, make_lora
from vedette.engine.core import EngineCore
from vedette.engine.llama.adapter import Adapter
from vedette.engine.turns import Turns
from vedette.errors import AdapterRefused, EngineFailed, InputError, ModelCorrupt
from vedette.models.locate import locate
from vedette.types import Constraint, EmbedRequest, Prompt, Request, ScoreRequest

PERSONAS = (
    (),
    (("a", 1.0),),
    (("b", 1.0),),
    (("c", 0.7),),
    (("a", 0.5), ("b", 0.5)),
)
SCHEMA = Constraint(
    "json_schema",
    '{"type":"object","properties":{"level":{"enum":["INFO","WARN"]},'
    '"name":{"type":"string","maxLength":6}},"required":["level","name"]}',
)


@pytest.fixture(scope="module")
def files(tiny_models, tmp_path_factory) -> dict[TinyKind, dict[str, Path]]:
    """Three adapters for each kind of model."""
    folder = tmp_path_factory.mktemp("lora")
    return {
        kind: {
            name: make_lora(kind, tiny_models[kind], seed=seed).write(
                folder / f"{kind}-{name}.gguf"
            )
            for seed, name in enumerate("abc")
        }
        for kind in TINY_KINDS
    }


@pytest.fixture(params=TINY_KINDS)
def engine(request, tiny_models, files) -> Iterator[EngineCore]:
    yield from opened(tiny_models[request.param], files[request.param])


@pytest.fixture
def full_engine(tiny_full, files) -> Iterator[EngineCore]:
    yield from opened(tiny_full, files["full"])


def opened(model: Path, adapters: dict[str, Path], **options) -> Iterator[EngineCore]:
    with EngineCore(model, small_options(width=6, **options)) as engine:
        for name, path in adapters.items():
            engine.add_adapter(name, path)
        yield engine
        if not engine._closed:
            assert_nothing_leaked(engine)


def in_short_turns(engine: EngineCore) -> None:
    """Have the groups change after every step."""
    engine._loop._turns = Turns(0.0)


def tagged(request: Request, adapters) -> Request:
    return replace(request, adapters=adapters)


# Together and alone


def test_personas_in_turns_answer_as_each_alone(engine: EngineCore) -> None:
    asked = [
        tagged(ask(f"{i} the server", max_tokens=24, logprobs=True), adapters)
        for i in range(3)
        for adapters in PERSONAS
    ]
    alone = [answer(engine, request) for request in asked]
    in_short_turns(engine)
    before = engine.stats.adapter_changes
    together = answers(engine, asked)
    assert engine.stats.adapter_changes - before > 20  # they really took turns
    for one, other in zip(together, alone, strict=True):
        assert_same_but_for_ties(one, other)
    assert len({one.text for one in together[: len(PERSONAS)]}) == len(PERSONAS)


def test_so_do_constrained_answers_with_forced_tokens(full_engine: EngineCore) -> None:
    asked = [
        tagged(ask(f"{i} level", constraint=SCHEMA, max_tokens=40, logprobs=True), adapters)
        for i in range(2)
        for adapters in PERSONAS
    ]
    alone = [answer(full_engine, request) for request in asked]
    in_short_turns(full_engine)
    for one, other in zip(answers(full_engine, asked), alone, strict=True):
        assert_same_but_for_ties(one, other)
        assert one.usage.forced_tokens


def test_guesses_change_no_answer_of_a_persona(full_engine: EngineCore) -> None:
    plain = [tagged(ask("no no no no", max_tokens=40, logprobs=True), p) for p in PERSONAS]
    alone = [answer(full_engine, request) for request in plain]
    guessed = [replace(request, speculate="ngram:4") for request in plain]
    in_short_turns(full_engine)
    for one, other in zip(answers(full_engine, guessed), alone, strict=True):
        assert_same_but_for_ties(one, other)


def test_a_draft_without_adapters_guesses_for_a_persona(tiny_full, files) -> None:
    for engine in opened(tiny_full, files["full"], draft=tiny_full):
        request = tagged(ask("the server", max_tokens=30, logprobs=True), (("a", 0.4),))
        alone = answer(engine, replace(request, speculate="off"))
        found = answer(engine, replace(request, speculate="draft:3"))
        assert_same_but_for_ties(found, alone)
        assert found.speculation.guessed


def test_choices_are_scored_and_texts_placed_under_adapters(full_engine: EngineCore) -> None:
    prompt = Prompt(raw="the label: ")
    choices = ("positive", "negative", "positive not", " the service")
    requests = [
        kind
        for adapters in PERSONAS
        for kind in (
            ScoreRequest(prompt=prompt, choices=choices, adapters=adapters),
            EmbedRequest(prompt=prompt, adapters=adapters),
        )
    ]
    alone = [full_engine.submit(request).result(WAIT_S) for request in requests]
    in_short_turns(full_engine)
    tickets = [full_engine.submit(request) for request in requests]
    together = [ticket.result(WAIT_S) for ticket in tickets]
    for one, other in zip(together[::2], alone[::2], strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=0.1)
    for one, other in zip(together[1::2], alone[1::2], strict=True):
        assert one.vector == pytest.approx(other.vector, abs=0.1)
    assert len({tuple(round(x, 1) for x in one.logprobs) for one in alone[::2]}) == len(PERSONAS)


def test_a_scale_of_zero_is_the_plain_model(full_engine: EngineCore) -> None:
    request = ask("the server", max_tokens=20)
    plain = answer(full_engine, request)
    before = full_engine.stats.adapter_changes
    assert answer(full_engine, tagged(request, (("a", 0.0),))).text == plain.text
    assert full_engine.stats.adapter_changes == before


# The prefix cache


def test_no_prefix_is_shared_between_sets_of_adapters(engine: EngineCore) -> None:
    prompt = chat("the service is not in the message", "level: INFO", shared=1)
    for round_ in range(2):
        for adapters in PERSONAS:
            request = Request(prompt=prompt, max_tokens=8, adapters=adapters)
            cached = answer(engine, request).usage.cached_tokens
            assert (cached > 0) == (round_ > 0), (round_, adapters, cached)


def test_nor_is_a_turn_of_a_chat(full_engine: EngineCore) -> None:
    text = "the request failed on the server"
    first = answer(full_engine, tagged(ask(text, max_tokens=12), (("a", 1.0),)))
    longer = ask(text + first.text, max_tokens=4)
    assert answer(full_engine, longer).usage.cached_tokens == 0
    assert answer(full_engine, tagged(longer, (("a", 0.9),))).usage.cached_tokens == 0
    assert answer(full_engine, tagged(longer, (("a", 1.0),))).usage.cached_tokens > 0


def test_an_adapter_that_comes_back_under_its_name_is_another(full_engine, files) -> None:
    request = tagged(ask("the server failed", max_tokens=20, logprobs=True), (("a", 1.0),))
    as_b = answer(full_engine, tagged(request, (("b", 1.0),)))
    answer(full_engine, request)
    full_engine.remove_adapter("a")
    full_engine.add_adapter("a", files["full"]["b"])
    found = answer(full_engine, request)
    assert found.usage.cached_tokens == 0
    assert_same_but_for_ties(found, as_b)


def test_what_was_kept_goes_with_its_adapter(full_engine: EngineCore) -> None:
    cells = full_engine._loop._room.cells
    answer(full_engine, tagged(ask("the server", max_tokens=4), (("a", 1.0), ("b", 1.0))))
    wait_until_idle(full_engine)
    assert cells.kept_cells
    full_engine.remove_adapter("b")
    assert not cells.kept_cells
    assert not full_engine._loop._room.context.adapters


# Coming and going under load


def test_adapters_come_and_go_under_load_and_no_request_is_lost(full_engine, files) -> None:
    expected = {
        name: answer(full_engine, tagged(ask("the server", max_tokens=16, logprobs=True), p))
        for name, p in (("", ()), ("a", (("a", 1.0),)), ("b", (("b", 1.0),)))
    }
    in_short_turns(full_engine)
    stop = threading.Event()
    faults: list[object] = []
    answered: list[str] = []

    def client(name: str) -> None:
        request = ask("the server", max_tokens=16, logprobs=True)
        request = tagged(request, ((name, 1.0),) if name else ())
        while not stop.is_set():
            try:
                found = full_engine.submit(request).result(WAIT_S)
                assert_same_but_for_ties(found, expected[name])
                answered.append(name)
            except InputError as error:  # refused at the door, by name: not lost
                if name != "b" or "no adapter 'b'" not in error.message:
                    faults.append(error)
                time.sleep(0.001)
            except BaseException as error:
                faults.append(error)
                return

    clients = [threading.Thread(target=client, args=(name,)) for name in ("", "a", "b", "b")]
    for thread in clients:
        thread.start()
    n_changes = 0
    give_up = time.monotonic() + WAIT_S
    while min(map(answered.count, expected)) < 3 or n_changes < 8:
        assert time.monotonic() < give_up, (answered, n_changes)
        assert not faults
        full_engine.remove_adapter("b")
        full_engine.add_adapter("b", files["full"]["b"])
        time.sleep(0.02)
        n_changes += 1
    stop.set()
    for thread in clients:
        thread.join(WAIT_S)
    assert not faults
    wait_until_idle(full_engine)
    assert len(full_engine._adapters._entries) == 3  # none is kept beyond its last request


def test_a_request_under_way_keeps_its_adapter_to_the_end(full_engine: EngineCore) -> None:
    request = tagged(ask("the server", max_tokens=400, logprobs=True), (("c", 1.0),))
    alone = answer(full_engine, request)
    ticket = full_engine.submit(request)
    assert full_engine.remove_adapter("c") == 1
    with pytest.raises(InputError, match="no adapter 'c'"):
        full_engine.submit(request)
    assert_same_but_for_ties(ticket.result(WAIT_S), alone)
    deadline = time.monotonic() + WAIT_S
    while len(full_engine._adapters._entries) > 2:
        assert time.monotonic() < deadline, "the adapter is never freed"
        time.sleep(0.001)


def test_a_cancelled_request_lets_its_adapter_go(full_engine: EngineCore) -> None:
    ticket = full_engine.submit(tagged(ask("the", max_tokens=1500), (("c", 1.0),)))
    full_engine.remove_adapter("c")
    ticket.cancel()
    deadline = time.monotonic() + WAIT_S
    while len(full_engine._adapters._entries) > 2:
        assert time.monotonic() < deadline, "the adapter is never freed"
        time.sleep(0.001)


def test_the_context_may_grow_under_adapters(tiny_full, files) -> None:
    for engine in opened(tiny_full, files["full"], cells=64):
        request = tagged(ask("the server", max_tokens=8, logprobs=True), (("a", 1.0),))
        small = answer(engine, request)
        answer(engine, tagged(ask("the server " * 40, max_tokens=60), (("b", 1.0),)))
        assert engine._loop._room.context.cells > 64
        assert_same_but_for_ties(answer(engine, request), small)


# Refusals


@pytest.mark.parametrize(
    ("adapters", "words"),
    [
        ((("d", 1.0),), "no adapter 'd'"),
        ((("a", 1.0), ("a", 0.5)), "named twice"),
        ((("a", float("nan")),), "scale of the adapter 'a' is nan"),
    ],
)
def test_what_no_request_may_name_is_refused_at_once(full_engine, adapters, words) -> None:
    request = tagged(ask("the"), adapters)
    with pytest.raises(InputError, match=words):
        full_engine.check(request)
    with pytest.raises(InputError, match=words):
        full_engine.submit(request)


def test_a_request_that_is_refused_for_something_else_holds_no_adapter(full_engine) -> None:
    with pytest.raises(InputError, match="max_tokens"):
        full_engine.submit(tagged(ask("the", max_tokens=0), (("a", 1.0),)))
    assert full_engine.remove_adapter("a") == 0


@pytest.mark.parametrize("name", ["", "-a", "a b", "a:b", "a/b", "../a", "x" * 65])
def test_a_name_must_be_one_that_can_stand_in_a_model_name(full_engine, files, name) -> None:
    with pytest.raises(InputError, match="no name for an adapter"):
        full_engine.add_adapter(name, files["full"]["a"])


def test_a_name_is_one_adapters_only(full_engine, files) -> None:
    with pytest.raises(InputError, match="'a' already"):
        full_engine.add_adapter("a", files["full"]["b"])


@pytest.mark.parametrize("kind", [kind for kind in TINY_KINDS if kind != "full"])
def test_another_architectures_adapter_never_reaches_llama_cpp(
    full_engine, files, kind, monkeypatch
) -> None:
    def reached(*_: object) -> None:
        raise AssertionError("llama.cpp was asked")

    monkeypatch.setattr(Adapter, "__init__", reached)
    with pytest.raises(AdapterRefused, match=f"it is for '{ARCHITECTURES[kind]}'"):
        full_engine.add_adapter("other", files[kind]["a"])
    assert list(full_engine.adapters) == ["a", "b", "c"]


def test_what_llama_cpp_refuses_all_the_same_is_an_error_and_no_adapter(
    full_engine, files, monkeypatch
) -> None:
    monkeypatch.setattr("vedette.engine.adapters.check_base", lambda *_: None)
    monkeypatch.setattr(
        "vedette.engine.adapters.read_adapter", lambda path: full_engine.adapters["a"]
    )
    with pytest.raises(ModelCorrupt, match="cannot load the adapter"):
        full_engine.add_adapter("other", files["sliding"]["a"])
    assert "other" not in full_engine.adapters


def test_a_closed_engine_takes_no_adapters(tiny_full, files) -> None:
    engine = EngineCore(tiny_full, small_options())
    engine.close()
    with pytest.raises(EngineFailed, match="closed"):
        engine.add_adapter("a", files["full"]["a"])


@pytest.mark.model
def test_on_packed_weights_personas_in_turns_answer_as_each_alone(tmp_path) -> None:
    """Repacked weights lie in memory of another kind than their adapters."""
    base = locate("smollm2-135m").path
    names = [f"blk.{i}.{matrix}.weight" for i in range(30) for matrix in ("attn_q", "ffn_up")]
    files = {
        name: make_lora("full", base, seed=seed, names=names, strength=2.0, architecture="llama")
        for seed, name in enumerate("ab")
    }
    paths = {name: lora.write(tmp_path / f"{name}.gguf") for name, lora in files.items()}
    for engine in opened(base, paths):
        asked = [
            Request(prompt=chat("Name a colour."), max_tokens=10, logprobs=True, adapters=adapters)
            for adapters in ((), (("a", 1.0),), (("b", 1.0),))
        ]
        alone = [answer(engine, request) for request in asked]
        in_short_turns(engine)
        for one, other in zip(answers(engine, asked), alone, strict=True):
            assert_same_but_for_ties(one, other)
        assert alone[0].text != alone[1].text != alone[2].text
