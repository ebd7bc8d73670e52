"""A summary: within its bound, held against the text, of texts of any length."""

from __future__ import annotations

import pytest
from scripted import WordBackend, completion, run_by_hand, user_text

from vedette.errors import BudgetTooSmall, InputError, InputTooLong
from vedette.tasks.summarise.keeper import Keeper, n_words, written_sentences
from vedette.tasks.summarise.task import Summarise
from vedette.types import Completion, Usage

SHORT = "The ferry sails at 9 from Kiel. " * 4 + "Ann waits for the ferry with two friends. " * 3
LONG = "\n\n".join(
    f"Paragraph {i}. The harbour has boats, and Ann counts them every day." for i in range(120)
)


def says(text):
    return lambda ask: completion(text)


def summary(text, said, **options):
    return run_by_hand(Summarise(**options), text, said)[0].value


def test_a_number_or_name_that_the_text_does_not_have_costs_its_sentence():
    value = summary(
        SHORT,
        says(
            "Ann waits for the ferry. It sails at 8. Ann's friends are from Oslo. It is the 9 one."
        ),
        words=30,
    )
    assert value["summary"] == "Ann waits for the ferry. It is the 9 one."
    assert [one["fault"] for one in value["dropped"]] == [
        '"8" is not in the text.',
        '"Oslo" is not in the text.',
    ]


def test_the_bound_holds_and_nothing_is_said_twice():
    said = "Ann waits for the ferry at Kiel. Ann waits for the ferry at Kiel! " + "word " * 30 + "."
    value = summary(SHORT, says(said), words=20)
    assert value["summary"] == "Ann waits for the ferry at Kiel."
    assert value["words"] == 7


def test_where_nothing_can_stand_it_is_asked_again_with_the_fault_then_answered_by_the_text():
    answer, asked = run_by_hand(Summarise(words=12), SHORT, says("It sails at 8."))
    assert '"8" is not in the text.' in user_text(asked[1][0])
    assert asked[0][0].sampling.seed != asked[1][0].sampling.seed
    assert answer.value["extractive"] is True
    assert answer.value["summary"] in SHORT
    assert answer.value["words"] <= 12


def test_a_long_text_is_read_whole_in_parts_and_these_are_summarised():
    read: list[str] = []

    def respond(ask):
        read.append(user_text(ask))
        return completion("Ann counts the boats of the harbour every day.")

    answer, asked = run_by_hand(Summarise(words=20, chunk_tokens=200), LONG, respond)
    parts = [text for text in read if text.startswith("Part of")]
    assert answer.value["chunks"] == len(parts) > 5
    assert all(any(f"Paragraph {i}." in part for part in parts) for i in range(120))
    assert max(len(step) for step in asked) <= 16
    assert read[-1].startswith("Notes on the parts")
    assert answer.value["summary"] == "Ann counts the boats of the harbour every day."


def test_notes_that_do_not_get_shorter_are_cut_to_the_sentences_that_matter():
    value = summary(LONG, says("Ann counts boats. " * 100), words=20, chunk_tokens=100)
    assert value["summary"] == "Ann counts boats."


def test_what_was_measured_of_the_model_bounds_what_it_reads_at_once():
    def longest(backend):
        _, asked = run_by_hand(Summarise(words=20), LONG * 4, says("Ann counts boats."), backend)
        return max(len(user_text(ask).split()) for step in asked for ask in step)

    assert 300 < longest(WordBackend(useful_tokens=1000)) <= 1000
    assert 1000 < longest(WordBackend()) < 1600
    with pytest.raises(InputTooLong):
        longest(WordBackend(context_tokens=300))


def test_chinese_is_asked_in_chinese_and_counted_by_characters():
    text = "张三说新仓库的面积是3200平方米，租期五年。李四不同意在春节前搬迁。" * 5
    answer, asked = run_by_hand(Summarise(words=30), text, says("李四不同意搬迁。新仓库租期六年。"))
    assert "概括" in user_text(asked[0][0])
    assert answer.value["summary"] == "李四不同意搬迁。"
    assert answer.value["words"] == n_words("李四不同意搬迁。") == 7


def test_a_sentence_that_was_cut_off_is_none():
    def respond(ask):
        said = "Ann waits for the ferry. Ann waits with"
        return Completion(text=said, finish_reason="length", usage=Usage())

    assert summary(SHORT, respond, words=30)["summary"] == "Ann waits for the ferry."


def test_marks_of_lists_headings_and_introductions_are_left_out():
    text = "Here is the summary:\n# Summary\n1. **Ann** waits.\n- The ferry sails."
    assert [*written_sentences(text, is_whole=True)] == ["Ann waits.", "The ferry sails."]
    assert [*written_sentences("Ann waits. The fer", is_whole=False)] == ["Ann waits."]


def test_short_and_empty_texts_ask_nothing():
    def nothing(ask):
        raise AssertionError

    assert summary("One. Two.", nothing, words=5)["summary"] == "One. Two."
    assert summary("  ", nothing) is None


def test_bounds_that_cannot_be_meant_are_refused():
    for wrong in ({"words": 0}, {"tokens": 0}, {"words": 5, "tokens": 5}, {"chunk_tokens": 3}):
        with pytest.raises(InputError):
            Summarise(**wrong)
    with pytest.raises(BudgetTooSmall):
        summary(SHORT, says("8."), words=2)


def test_what_was_kept_of_a_beginning_stays_kept():
    task = Summarise(words=30)
    keeper = task.keeper(SHORT, WordBackend())
    assert isinstance(keeper, Keeper)
    assert [keeper.take("Ann waits."), keeper.take("Ann waits."), keeper.take("8!")] == [
        True,
        False,
        False,
    ]
    assert keeper.text == "Ann waits."
