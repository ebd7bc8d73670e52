"""BM25 over the candidates of one query."""

from __future__ import annotations

from collections import Counter

import pytest

from vedette.tasks.bm25 import bm25, terms


def test_words_are_folded_and_chinese_gives_characters_and_pairs():
    assert terms("The CAFÉ's ＡＢＣ, x_1") == ["the", "café", "s", "abc", "x", "1"]
    assert Counter(terms("退货政策 v2")) == Counter(
        ["退", "货", "政", "策", "退货", "货政", "政策", "v2"]
    )
    assert terms("") == terms("...!") == []


def test_the_formula():
    # One of two documents has the word: idf = ln(1 + 1.5 / 1.5); both are of the mean length.
    assert bm25("b", ["a b", "a c"]) == pytest.approx([0.6931, 0.0], abs=1e-4)
    # Twice in the document: 2 * 2.2 / (2 + 1.2); twice in the query counts twice.
    assert bm25("b", ["b b", "a c"])[0] == pytest.approx(0.6931 * 2 * 2.2 / 3.2, abs=1e-4)
    assert bm25("b b", ["a b", "a c"])[0] == pytest.approx(2 * 0.6931, abs=1e-4)


def test_rare_words_and_short_documents_count_more():
    scores = bm25("rare common", ["rare x", "common x", "common y", "common " + "z " * 20])
    assert scores[0] > scores[1] == scores[2] > scores[3] > 0


def test_chinese_is_found_without_spaces():
    scores = bm25("怎么退货", ["发货需要三天。", "七天内可以退货。", "我们的地址"])
    assert scores.index(max(scores)) == 1


@pytest.mark.parametrize(("query", "texts"), [("", ["a"]), ("?", ["a", ""]), ("a", ["", ""])])
def test_what_has_no_words_scores_nothing(query, texts):
    assert bm25(query, texts) == [0.0] * len(texts)
    assert bm25("a", []) == []
