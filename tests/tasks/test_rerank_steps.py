"""Ranking driven by hand: no model, every score scripted."""

from __future__ import annotations

import json
import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import ONE_EACH, WordBackend, run_by_hand, scores, user_text

from vedette.decide.question import YES_NO
from vedette.errors import CapabilityMissing, InputError, InputTooLong
from vedette.tasks.rerank import Rerank as RerankTask
from vedette.types import Embedding, EmbedRequest, Item

Rerank = partial(RerankTask, method="yes-no", order="words")
Words = partial(RerankTask, method="words")
Near = partial(RerankTask, order="words")
DOCUMENTS = ["cats sleep", "dogs bark at cats", "fish swim", "a bird sings", "cats purr"]


def item(query="why do cats purr", documents=None):
    documents = DOCUMENTS if documents is None else documents
    return Item(id="1", text=query, columns={"documents": documents})


def even(ask):
    """Says the same of every passage."""
    return scores(*[math.log(0.4)] * len(ask.choices))


def likes(word):
    """Says yes to passages with the word."""

    def respond(ask):
        assert ask.choices == YES_NO
        passage = user_text(ask)[ask.prompt.shared_chars :]
        return scores(*map(math.log, (0.8, 0.1) if word in passage else (0.3, 0.6)))

    return respond


def order(answer):
    return [result["index"] for result in answer.value["results"]]


def test_where_the_model_tells_nothing_apart_the_order_is_that_of_bm25():
    answer, _ = run_by_hand(Rerank(), item(), even)
    assert order(answer) == [4, 0, 1, 2, 3]


def test_where_the_model_tells_nothing_apart_hits_stay_as_they_were_given():
    answer, _ = run_by_hand(Rerank(order="given"), item(), even)
    assert order(answer) == [0, 1, 2, 3, 4]


def test_the_last_hit_rises_by_the_models_word_but_not_over_the_first_ones_by_a_little():
    documents = [f"passage {n}" for n in range(20)]
    task = Rerank(order="given", top=20, read=20, first_weight=2, neighbours=0)
    answer, _ = run_by_hand(task, item("?", documents), likes("passage 19"))
    assert 0 < order(answer).index(19) < 19


def test_what_is_like_a_good_hit_rises_with_it_and_none_does_among_a_few():
    documents = [f"subject{n} matter{n} thing{n}" for n in range(40)]
    documents[30] = documents[5] + " more"
    plain, _ = run_by_hand(Words(top=40), item("?", documents), even)
    assert order(plain).index(30) < 20
    alone = Words(top=40, neighbours=0)
    assert order(run_by_hand(alone, item("?", documents), even)[0]) == [*range(40)]
    few, _ = run_by_hand(Words(top=9), item("?", documents[:9]), even)
    assert order(few) == [*range(9)]


def test_by_words_nothing_is_asked():
    backend = WordBackend(can_score=False)
    answer, asked = run_by_hand(Words(order="words"), item(), even, backend)
    assert (order(answer)[0], asked) == (4, [])
    assert answer.value["stages"] == {"candidates": 5, "read": 0, "windows": 0}


def test_by_words_what_shares_none_has_no_place_of_its_own():
    documents = ["fish swim", "a bird sings"]
    answer, _ = run_by_hand(Rerank(), item("quoi", documents), even)
    assert [r["relevance_score"] for r in answer.value["results"]] == [0.5, 0.5]


def test_the_models_odds_outweigh_shared_words_and_weight_0_leaves_these_out():
    answer, _ = run_by_hand(Rerank(first_weight=0.5), item(), likes("fish"))
    assert order(answer)[0] == 2
    answer, _ = run_by_hand(Rerank(first_weight=0), item(), likes("fish"))
    assert order(answer) == [2, 0, 1, 3, 4]  # the others are equal: as they were given


def test_a_result_says_what_it_rests_on():
    documents = [{"id": "x", "text": "cats purr"}, "fish", {"id": 7, "text": "birds"}]
    answer, asked = run_by_hand(
        Rerank(top=2, return_documents=True), item(documents=documents), likes("purr")
    )
    first, second = answer.value["results"]
    assert first.keys() == {"index", "relevance_score", "id", "yes", "document"}
    assert (first["index"], first["id"], first["document"]) == (0, "x", {"text": "cats purr"})
    assert first["yes"] == pytest.approx(0.8 / 0.9, abs=1e-4)
    assert 1 > first["relevance_score"] > 0.5 > second["relevance_score"] > 0
    assert "id" not in second
    assert answer.usage.prompt_tokens == 10 * sum(map(len, asked))


def test_the_query_is_shared_by_all_candidates_and_stands_before_them():
    _, asked = run_by_hand(Rerank(), item("what {query}"), even)
    prompts = [ask.prompt for ask in asked[0]]
    shared = {p.messages[1].content[: p.shared_chars] for p in prompts}
    assert len(shared) == 1
    assert "Question: what {query}" in shared.pop()
    assert sorted(p.messages[1].content[p.shared_chars :] for p in prompts) == sorted(DOCUMENTS)


def test_only_the_first_are_read_and_others_count_as_the_mean_of_these():
    answer, asked = run_by_hand(Rerank(read=2, first_weight=0), item(), likes("sleep"))
    assert len(asked[0]) == 2
    assert order(answer) == [0, 1, 2, 3, 4]  # 0 and 4 were read
    assert ["yes" in result for result in answer.value["results"]] == [True, *[False] * 3, True]
    assert answer.value["stages"] == {"candidates": 5, "read": 2, "windows": 2}


def test_beyond_the_pool_candidates_stay_in_the_first_order():
    documents = [f"passage {n}" for n in range(70)]
    answer, _ = run_by_hand(Rerank(order="given", top=70), item("?", documents), even)
    assert order(answer)[50:] == [*range(50, 70)]


def test_a_long_candidate_counts_by_its_best_window_which_is_told():
    long = " ".join(["word"] * 60 + ["answer"] + ["word"] * 40)
    task = Rerank(window_tokens=20)
    answer, asked = run_by_hand(task, item("a question", ["short", long]), likes("answer"))
    assert len(asked[0]) > 5
    first = answer.value["results"][0]
    start, end = first["window"]
    assert first["index"] == 1
    assert "answer" in long[start:end]
    assert answer.value["stages"]["windows"] == len(asked[0])
    read = "".join(user_text(ask) for ask in asked[0])
    assert read.count("word") >= 100  # every word is in a window


def test_by_likelihood_the_query_is_scored_after_each_passage():
    query = "why do cats purr"

    def respond(ask):
        assert ask.choices == (query,)
        assert query not in user_text(ask)
        assert ask.prompt.shared_messages == 1
        return scores(-5.0 if "fish" in user_text(ask) else -9.0)

    task = RerankTask(method="likelihood", first_weight=0)
    answer, _ = run_by_hand(task, item(query), respond)
    assert order(answer) == [2, 0, 1, 3, 4]
    assert [r["log_likelihood"] for r in answer.value["results"]] == [-5.0, *[-9.0] * 4]


VALUES = ("cat", "dog", "fish", "bird", "purr", "sing")
EMBEDS = WordBackend(can_embed=True)


def by_the_words(ask):
    """A place that says which words there are."""
    assert isinstance(ask, EmbedRequest)
    vector = tuple(5.0 * (word in user_text(ask)) for word in VALUES)
    return Embedding(vector=vector, usage=ONE_EACH)


def test_by_embedding_what_is_near_the_query_rises():
    documents = ["one", "two fish", "three birds sing", "four dogs", "five cats purr"]
    task = RerankTask(first_weight=0.2)
    answer, asked = run_by_hand(task, item("cats that purr", documents), by_the_words, EMBEDS)
    assert order(answer)[0] == 4
    similarities = {r["index"]: r["similarity"] for r in answer.value["results"]}
    assert similarities[4] == max(similarities.values()) > 0.5
    assert answer.value["stages"] == {"candidates": 5, "read": 5, "windows": 5}
    assert len(asked) == 1
    firm = RerankTask(first_weight=100)
    answer, _ = run_by_hand(firm, item("cats that purr", documents), by_the_words, EMBEDS)
    assert order(answer) == [0, 1, 2, 3, 4]


def test_by_embedding_what_is_asked_of_a_candidate_is_the_same_for_all_queries():
    task = Near(instructions="Prefer new ones.")
    (first, *passages), (second, *again) = (
        run_by_hand(task, item(query), by_the_words, EMBEDS)[1][0] for query in ("cats", "dogs")
    )
    assert {ask.prompt for ask in passages} == {ask.prompt for ask in again}
    assert all(ask.keep for ask in passages)
    assert not first.keep
    assert (user_text(first), user_text(second)) == ("cats", "dogs")
    assert "Prefer new ones." in first.prompt.messages[0].content


def test_by_embedding_a_long_candidate_counts_by_its_opening_which_is_told_or_by_its_best_window():
    long = " ".join(["word"] * 60 + ["cat"] + ["word"] * 40)
    documents = ["a dog", long, "a fish"]
    task = RerankTask(window_tokens=20, top=3)
    answer, asked = run_by_hand(task, item("cat", documents), by_the_words, EMBEDS)
    assert len(asked[0]) == 1 + 3
    (told,) = [r["window"] for r in answer.value["results"] if "window" in r]
    assert told[0] == 0
    assert user_text(asked[0][2]) == long[: told[1]]
    whole = RerankTask(window_tokens=20, top=3, whole=True, first_weight=0)
    answer, asked = run_by_hand(whole, item("cat", documents), by_the_words, EMBEDS)
    assert len(asked[0]) > 1 + 3
    first = answer.value["results"][0]
    assert first["index"] == 1
    assert "cat" in long[slice(*first["window"])]


def test_by_embedding_equal_places_leave_the_first_order():
    def same(ask):
        return Embedding(vector=(1.0, 2.0, 3.0), usage=ONE_EACH)

    answer, _ = run_by_hand(RerankTask(top=5), item(), same, EMBEDS)
    assert order(answer) == [0, 1, 2, 3, 4]


@given(
    documents=st.lists(st.text("ab 猫狗", max_size=12), max_size=24),
    values=st.lists(st.floats(-60, 60, width=16), min_size=7, max_size=7),
)
def test_by_embedding_the_ranking_is_a_permutation_too(documents, values):
    def respond(ask):
        start = len(user_text(ask)) % 7
        return Embedding(vector=tuple(values[start:] + values[:start]), usage=ONE_EACH)

    answer, _ = run_by_hand(Near(top=30), item("a 猫", documents), respond, EMBEDS)
    assert sorted(order(answer)) == [*range(len(documents))]
    found = [result["relevance_score"] for result in answer.value["results"]]
    assert found == sorted(found, reverse=True)


def test_equal_texts_are_read_once_and_keep_their_order():
    answer, asked = run_by_hand(Rerank(), item(documents=["a", "b", "a"]), likes("a"))
    assert len(asked[0]) == 2
    assert order(answer) == [0, 2, 1]


def test_candidates_without_text_are_not_read_and_come_last():
    answer, asked = run_by_hand(Rerank(), item(documents=["", "fish", " \n"]), even)
    assert len(asked[0]) == 1
    assert order(answer) == [1, 0, 2]
    answer, asked = run_by_hand(Rerank(), item(documents=["", " "]), even)
    assert order(answer) == [0, 1]


@given(
    documents=st.lists(st.text("ab 猫狗", max_size=12), max_size=24),
    top=st.integers(1, 26),
    read=st.integers(1, 14),
    weight=st.sampled_from([0.0, 0.5, 3.0]),
    said=st.lists(st.floats(-20, -0.001), min_size=7, max_size=7),
)
def test_the_ranking_is_a_permutation_with_falling_scores(documents, top, read, weight, said):
    numbers = iter(range(10_000))

    def respond(ask):
        return scores(*(said[next(numbers) % 7] for _ in ask.choices))

    task = Rerank(top=top, read=read, first_weight=weight)
    answer, _ = run_by_hand(task, item("a 猫", documents), respond)
    found = order(answer)
    assert len(found) == min(top, len(documents))
    assert len(set(found)) == len(found)
    assert set(found) <= set(range(len(documents)))
    values = [result["relevance_score"] for result in answer.value["results"]]
    assert values == sorted(values, reverse=True)
    numbers = iter(range(10_000))
    again, _ = run_by_hand(task, item("a 猫", documents), respond)
    assert again.value == answer.value


def test_documents_may_be_json_text_as_in_a_csv_file():
    answer, _ = run_by_hand(Rerank(), item(documents=json.dumps(["fish", "cats purr"])), even)
    assert order(answer) == [1, 0]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("[", "not JSON"),
        ({"a": 1}, "must be an array"),
        (["a", 3], r"documents\[1\] must be a text"),
        ([{"id": "x"}], r"documents\[0\] must be a text"),
        ([{"id": 1.5, "text": "a"}], "id must be"),
    ],
)
def test_a_candidate_that_is_none_is_an_error_and_not_left_out(documents, message):
    with pytest.raises(InputError, match=message):
        run_by_hand(Rerank(), item(documents=documents), even)


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(InputError, match="query is empty"):
        run_by_hand(Rerank(), item(" "), even)
    with pytest.raises(InputError, match="no column 'documents'"):
        run_by_hand(Rerank(), "query", even)
    with pytest.raises(CapabilityMissing, match="can score"):
        run_by_hand(Rerank(), item(), even, WordBackend(can_score=False))
    with pytest.raises(CapabilityMissing, match="can embed") as refused:
        run_by_hand(Near(), item(), even)
    assert "--method likelihood" in refused.value.hint
    with pytest.raises(CapabilityMissing, match="can embed") as refused:
        run_by_hand(Near(), item(), even, WordBackend(can_score=False))
    assert "--method words" in refused.value.hint
    with pytest.raises(InputTooLong, match="no room for candidates"):
        run_by_hand(Rerank(), item("word " * 230), even, WordBackend(context_tokens=300))
    answer, asked = run_by_hand(Rerank(), item(documents=[]), even)
    assert (answer.value["results"], asked) == ([], [])


@pytest.mark.parametrize(
    "options",
    [
        {"method": "both"},
        {"order": "best"},
        {"top": 0},
        {"read": 0},
        {"neighbours": 1.0},
        {"window_tokens": 3},
        {"first_weight": -1.0},
    ],
)
def test_parameters_that_are_none_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        Rerank(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"read": 3},
        {"method": "words", "read": 3},
        {"method": "words", "first_weight": 1.0},
        {"method": "words", "window_tokens": 100},
        {"method": "words", "whole": True},
        {"method": "words", "instructions": "Prefer new ones."},
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused(options):
    name = [*options][-1]
    with pytest.raises(InputError, match=f"{name} has no meaning with method"):
        RerankTask(**options)


def test_the_identity_tells_jobs_apart():
    kinds = [
        Rerank(),
        Near(),
        Near(whole=True),
        Words(order="words"),
        Rerank(top=3),
        Rerank(read=9),
        Rerank(neighbours=0.5),
        Rerank(method="likelihood"),
        Rerank(order="given"),
        Rerank(first_weight=1),
        Rerank(window_tokens=100),
        Rerank(return_documents=True),
        Rerank(instructions="Prefer new ones."),
    ]
    assert len({str(task.identity) for task in kinds}) == len(kinds)
