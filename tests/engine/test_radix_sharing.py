"""Beginnings that prompts have in common beyond what is declared: same answers, less computed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from engine_helpers import (
    WAIT_S,
    answer,
    answers,
    assert_nothing_leaked,
    assert_same_but_for_ties,
    chat,
    small_options,
    wait_until_idle,
)

from vedette.engine.core import EngineCore
from vedette.errors import Cancelled
from vedette.types import Constraint, Message, Prompt, Request, ScoreRequest

HEAD = "Answer the question about the text. Say no more than is asked for."
WORDS = ("the server", " failed", " request", " on", " connection", " level", " service", "error")
QUESTIONS = ("why?", "who was it and when?", "how often?", "is it over now?", "what next?")
DIGITS = Constraint("regex", r"##%%[0-9]{3}%%##")


def document(number: int, n_words: int = 90) -> str:
    choose = random.Random(number).choice
    return f"{number}: " + "".join(choose(WORDS) for _ in range(n_words))


def prompts(n_documents: int, n_questions: int, *, shared: int = 1) -> list[Prompt]:
    """Documents with questions, in an order of chance."""
    texts = [
        f"{document(d)}\n{question}"
        for d in range(n_documents)
        for question in QUESTIONS[:n_questions]
    ]
    random.Random(5).shuffle(texts)
    return [chat(HEAD, text, shared=shared) for text in texts]


def requests(*, shared: int = 1, constraint: Constraint | None = None) -> list[Request]:
    return [
        Request(prompt=prompt, max_tokens=16, constraint=constraint, logprobs=True)
        for prompt in prompts(4, 5, shared=shared)
    ]


@pytest.mark.parametrize("shared", [0, 1])
@pytest.mark.parametrize("constraint", [None, DIGITS])
def test_answers_are_those_without_sharing(
    tiny_any: Path, shared: int, constraint: Constraint | None
) -> None:
    asked = requests(shared=shared, constraint=constraint)
    with EngineCore(tiny_any, small_options(width=1, share_prefixes=False)) as engine:
        expected = answers(engine, asked)
    for width in (1, 4):
        with EngineCore(tiny_any, small_options(width=width)) as engine:
            for got, alone in zip(answers(engine, asked), expected, strict=True):
                assert_same_but_for_ties(got, alone)
            assert_nothing_leaked(engine)


def test_scores_are_those_without_sharing(tiny_any: Path) -> None:
    choices = ("yes it is", "no", "not now", "yes")
    asked = [ScoreRequest(prompt=prompt, choices=choices) for prompt in prompts(4, 5)]

    def scores(**options: object) -> list[tuple[float, ...]]:
        with EngineCore(tiny_any, small_options(**options)) as engine:
            tickets = [engine.submit(request) for request in asked]
            found = [ticket.result(WAIT_S).logprobs for ticket in tickets]
            assert_nothing_leaked(engine)
            return found

    expected = scores(width=1, share_prefixes=False)
    for got, alone in zip(scores(width=4), expected, strict=True):
        assert got == pytest.approx(alone, abs=0.05)


def test_a_document_is_computed_once_for_all_questions_that_wait(tiny_full: Path) -> None:
    asked = requests()
    with EngineCore(tiny_full, small_options()) as engine:
        found = answers(engine, asked)
        n_prompt = [completion.usage.prompt_tokens for completion in found]
        n_read = sum(completion.usage.prompt_tokens for completion in found) - sum(
            completion.usage.cached_tokens for completion in found
        )
    # Four documents and the head, and of every row its question.
    assert n_read < 4 * max(n_prompt) + 20 * 40
    assert n_read < sum(n_prompt) / 2


def test_other_memories_share_what_is_declared_as_before(tiny_recurrent: Path) -> None:
    with EngineCore(tiny_recurrent, small_options()) as engine:
        found = answers(engine, requests())
    head = found[0].usage.cached_tokens or found[1].usage.cached_tokens
    assert {completion.usage.cached_tokens for completion in found} == {0, head}


def test_prompts_with_nothing_in_common_leave_nothing_behind(tiny_full: Path) -> None:
    asked = [
        Request(prompt=chat(HEAD, document(n), shared=1), max_tokens=5) for n in range(1000, 1012)
    ]
    with EngineCore(tiny_full, small_options(width=4)) as engine:
        answers(engine, asked)
        wait_until_idle(engine)
        cells = engine._loop._room.cells
        assert len(cells._kept) == 1  # the head
        assert cells.kept_cells < 100


def test_a_text_asked_about_again_and_again_is_in_the_cache_from_the_third_time_on(
    tiny_full: Path,
) -> None:
    with EngineCore(tiny_full, small_options()) as engine:
        cached = [
            answer(
                engine,
                Request(prompt=chat(HEAD, f"{document(3)}\n{question}", shared=1), max_tokens=3),
            ).usage.cached_tokens
            for question in QUESTIONS
        ]
    assert max(cached[:2]) + 90 < min(cached[2:])  # the words of the document


def test_the_first_reader_may_be_cancelled(tiny_full: Path) -> None:
    asked = [
        Request(prompt=prompt, max_tokens=12, logprobs=True) for prompt in prompts(1, 5, shared=1)
    ]
    with EngineCore(tiny_full, small_options()) as engine:
        expected = answers(engine, asked)
    with EngineCore(tiny_full, small_options(batch_tokens=16)) as engine:
        tickets = [engine.submit(request) for request in asked]
        tickets[0].cancel()
        with pytest.raises(Cancelled):
            tickets[0].result(WAIT_S)
        for ticket, alone in zip(tickets[1:], expected[1:], strict=True):
            assert_same_but_for_ties(ticket.result(WAIT_S), alone)
        assert_nothing_leaked(engine)


def test_one_with_nothing_in_common_is_answered_among_many_that_have(tiny_full: Path) -> None:
    many = [
        Request(prompt=chat(HEAD, f"{document(1)}\n{n}", shared=1), max_tokens=4)
        for n in range(100)
    ]
    alone = Request(prompt=chat(HEAD, document(2), shared=1), max_tokens=4)
    ended: list[str] = []
    with EngineCore(tiny_full, small_options(width=2)) as engine:
        running = [engine.submit(request) for request in many[:4]]
        late = engine.submit(alone)
        late.on_done(lambda: ended.append("alone"))
        rest = [engine.submit(request) for request in many[4:]]
        for ticket in rest:
            ticket.on_done(lambda: ended.append("one of many"))
        for ticket in [*running, late, *rest]:
            ticket.result(WAIT_S)
    assert ended.index("alone") < 30


def test_large_rows_of_common_documents_finish_in_a_small_cache(tiny_any: Path) -> None:
    asked = [Request(prompt=prompt, max_tokens=40) for prompt in prompts(4, 5)]
    options = small_options(cells=512, max_context_tokens=512)
    with EngineCore(tiny_any, options) as engine:
        for completion in answers(engine, asked):
            assert completion.usage.completion_tokens == 40
        assert_nothing_leaked(engine)


def test_a_growing_thread_is_read_from_where_it_was_left(tiny_full: Path) -> None:
    def thread(n: int) -> Prompt:
        messages = [Message("system", HEAD)]
        messages += [Message("user", document(100 + i, 40)) for i in range(n)]
        return Prompt(messages=tuple(messages), shared_messages=1)

    asked = [Request(prompt=thread(n), max_tokens=3) for n in range(1, 13)]
    with EngineCore(tiny_full, small_options()) as engine:
        found = answers(engine, asked)
        assert_nothing_leaked(engine)
    read = [one.usage.prompt_tokens - one.usage.cached_tokens for one in found]
    assert max(read[1:]) < 2 * read[0]


def test_one_at_a_time_an_answer_does_not_depend_on_what_was_asked_before(tiny_full: Path) -> None:
    with EngineCore(tiny_full, small_options(width=1)) as engine:
        found = answers(engine, requests())
    head = found[-1].usage.cached_tokens
    assert {completion.usage.cached_tokens for completion in found} == {0, head}
