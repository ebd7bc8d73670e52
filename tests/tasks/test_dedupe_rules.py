"""Rows that say the same: what counts as the same, and that similarity is not passed on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.errors import InputError
from vedette.tasks.dedupe import Clusters, Finder, GreyPair, Matching, Normalise, Verdict
from vedette.tasks.dedupe.amounts import agreement, amount_of
from vedette.tasks.dedupe.clusters import Place
from vedette.tasks.dedupe.minhash import MISSED, Bands
from vedette.tasks.dedupe.shingles import Shingles, words_of

FOX = "the quick brown fox jumps over the lazy dog"
PARK = "今天天气很好我们去公园散步"


def places(texts, matching=None, chunk=3):
    finder = Finder(matching or Matching())
    for at in range(0, len(texts), chunk):
        finder.add(texts[at : at + chunk])
    return finder.clusters().places


def jaccard(a: str, b: str, n: int = 3) -> float:
    sets = [{text[i : i + n] for i in range(max(1, len(text) - n + 1))} for text in (a, b)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@pytest.mark.parametrize(
    ("spec", "text", "same"),
    [
        ("nfkc", "ＡＢＣ １２", "ABC 12"),
        ("case", "STRASSE", "straße"),
        ("space", " a\t\n b\u3000", "a b"),
        ("punctuation", "wait, what?!", "wait  what  "),
        ("nfkc,case,space,punctuation", "Ｆoo—ＢＡＲ！", "foo bar"),
    ],
)
def test_each_normalisation_removes_its_own_difference_and_no_other(spec, text, same):
    normalise = Normalise.of(spec)
    assert normalise(text) == normalise(same)
    assert Normalise.of("none")(text) == text
    others = ",".join({"nfkc", "case", "space", "punctuation"} - set(spec.split(",")))
    assert not others or Normalise.of(others)(text) != Normalise.of(others)(same)


@given(st.text())
def test_normalising_twice_changes_nothing_more(text):
    normalise = Normalise()
    assert normalise(normalise(text)) == normalise(text)


def test_words_keep_numbers_whole_and_take_cjk_characters_one_by_one():
    assert words_of("photoshop cs3, v6.5 für 中文版 xp") == [
        *("photoshop", "cs3", "v6", "5", "für", "中", "文", "版", "xp")
    ]
    assert words_of("6.5 1,000") == ["6.5", "1,000"]
    assert words_of("?!") == ["?!"]


@settings(max_examples=50)
@given(st.lists(st.text(max_size=12), min_size=2, max_size=6), st.integers(1, 4))
def test_similarity_is_that_of_the_sets_of_runs(texts, length):
    texts = [text.replace("\0", "x") for text in texts]
    sets = Shingles("chars", length)([text.ljust(length, "\0") for text in texts])
    found = sets.jaccard(0, list(range(len(texts))))
    expected = [
        jaccard(texts[0].ljust(length, "\0"), text.ljust(length, "\0"), length) for text in texts
    ]
    assert found == pytest.approx(expected)


def test_runs_of_words_do_not_cross_into_the_next_row():
    sets = Shingles("words", 2)(["a b c", "d", "c d"])
    assert [len(sets.row(n)) for n in range(3)] == [2, 1, 1]
    assert sets.jaccard(2, [0, 1]).tolist() == [0, 0]


def test_rows_are_exact_near_or_apart():
    found = places([FOX, "unrelated words", FOX, FOX.replace("the lazy", "a lazy"), PARK])
    assert [place.representative for place in found] == [0, 1, 0, 0, 4]
    assert [place.how for place in found] == [None, None, "exact", "near", None]
    assert found[3].score == pytest.approx(
        jaccard(FOX, FOX.replace("the lazy", "a lazy")), abs=1e-4
    )


@pytest.mark.parametrize(
    "matching",
    [Matching(), Matching(shingles=Shingles("words", 2)), Matching(by="words", threshold=0.8)],
)
def test_chinese_rows_are_found_as_english_ones_are(matching):
    found = places([PARK, FOX, PARK + "吧", FOX + " now"], matching)
    assert [place.representative for place in found] == [0, 1, 0, 1]


def test_blank_rows_are_like_no_other():
    assert [place.representative for place in places(["", "x y z", " ", ""])] == [0, 1, 2, 3]


def test_a_chain_of_small_changes_does_not_become_one_cluster():
    words = [f"word{n}" for n in range(40)]
    chain = [" ".join(words[n : n + 20]) for n in range(20)]
    for matching in (Matching(threshold=0.7), Matching(by="words", threshold=0.7)):
        found = places(chain, matching)
        assert 2 < len({place.representative for place in found}) < 20
    for row, place in enumerate(places(chain, Matching(threshold=0.7))):
        assert jaccard(chain[row], chain[place.representative]) >= 0.7


@settings(max_examples=40)
@given(
    st.lists(
        st.text(alphabet="ab 中", min_size=4, max_size=14).filter(str.strip),
        min_size=2,
        max_size=25,
    )
)
def test_every_row_is_similar_to_its_representative_which_comes_first(texts):
    for row, place in enumerate(places(texts, Matching(threshold=0.6))):
        assert place.representative <= row
        if place.how == "exact":
            assert texts[row] == texts[place.representative]
        elif place.how == "near":
            assert jaccard(texts[row], texts[place.representative]) >= 0.6


@pytest.mark.parametrize("floor", [0.3, 0.5, 0.8, 0.95])
def test_bands_find_the_pairs_that_they_promise(floor):
    bands = Bands(floor)
    assert (1 - floor**bands.rows) ** bands.count <= MISSED
    numbers = np.random.default_rng(0)
    missed = 0
    for _ in range(150):
        size = 400
        shared = round(2 * size * floor / (1 + floor)) + 4
        letters = numbers.integers(0x4E00, 0x9FFF, size=2 * size - shared)
        one, two = letters[:size], letters[size - shared :]
        sets = Shingles("chars", 1)(["".join(map(chr, part)) for part in (one, two)])
        keys = bands.keys(sets)
        missed += not (keys[0] == keys[1]).any()
    assert missed <= 6


def test_pairs_in_the_grey_band_are_named_once_with_the_earlier_row_first():
    near = FOX.replace("lazy dog", "sleeping cat")
    finder = Finder(Matching(threshold=0.9, grey_from=0.4))
    finder.add([FOX, "something else", near, near])
    (pair,) = finder.clusters().grey
    assert (pair.first, pair.second) == (0, 2)
    assert 0.4 <= pair.similarity < 0.9


def clusters_of(texts, amounts, **matching):
    finder = Finder(Matching(by="words", **matching))
    finder.add(texts, amounts)
    return finder.clusters()


def test_amounts_that_lie_apart_make_equal_texts_less_alike():
    texts = ["office suite", "office suite", "office suite", "office suite", "other thing"]
    found = clusters_of(texts, [10.0, 10.0, 11.0, 400.0, None]).places
    assert [place.representative for place in found] == [0, 0, 0, 3, 4]
    assert [place.how for place in found] == [None, "exact", "near", None, None]
    assert found[2].score == pytest.approx((10 / 11) ** 0.2, abs=1e-4)


def test_a_missing_amount_changes_nothing():
    texts = ["office suite 2007", "office suite 2007 upgrade", "tax helper"]
    plain = clusters_of(texts, (), threshold=0.3).places
    assert clusters_of(texts, [5.0, None, 7.0], threshold=0.3).places == plain
    assert plain[1].representative == 0


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        (3, 3.0),
        (" 2.50 ", 2.5),
        ("1e3", 1000.0),
        (0, None),
        (-4, None),
        ("$5", None),
        ("", None),
        (None, None),
        (True, None),
        ([1], None),
        ("inf", None),
        ("nan", None),
        (10**400, None),
    ],
)
def test_an_amount_is_a_number_over_0_or_none(value, amount):
    assert amount_of(value) == amount


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_agreement_is_even_handed_and_at_most_1(one, other):
    found = agreement(one, other)
    assert 0 < found <= 1
    assert found == agreement(other, one)
    assert agreement(one, one) == 1


def test_by_words_a_rare_word_says_more_than_common_ones():
    common = [f"software for windows number {n}" for n in range(30)]
    rows = [*common, "zyxxel adapter for windows", "adapter zyxxel windows"]
    found = places(rows, Matching(by="words", threshold=0.7))
    assert found[31].representative == 30
    assert found[31].how == "near"


def grey_clusters(n: int) -> Clusters:
    return Clusters(tuple(Place(row) for row in range(n)))


def test_a_verdict_joins_a_cluster_with_its_members_and_says_through_whom():
    before = Clusters((Place(0), Place(1), Place(1, "near", 0.9)), (GreyPair(0, 1, 0.6),))
    after = before.merged([Verdict(0, 1, 0.75, True)])
    assert after.places == (
        Place(0),
        Place(0, "model", 0.75),
        Place(0, "model", 0.75, via=1),
    )


def test_verdicts_are_not_passed_on():
    chain = [Verdict(0, 1, 0.9, True), Verdict(1, 2, 0.8, True), Verdict(0, 2, 0.3, False)]
    after = grey_clusters(3).merged(chain)
    assert [place.representative for place in after.places] == [0, 0, 2]
    whole = [*chain[:2], Verdict(0, 2, 0.7, True)]
    after = grey_clusters(3).merged(whole)
    assert [place.representative for place in after.places] == [0, 0, 0]


def test_a_verdict_of_not_the_same_changes_nothing():
    assert grey_clusters(2).merged([Verdict(0, 1, 0.4, False)]) == grey_clusters(2)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.5, 1)), max_size=25))
def test_after_verdicts_each_row_was_itself_judged_the_same_as_its_representative(drawn):
    verdicts = {(a, b): Verdict(a, b, p, True) for a, b, p in drawn if a < b}
    for row, place in enumerate(grey_clusters(8).merged(verdicts.values()).places):
        assert place.representative == row or (place.representative, row) in verdicts


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Matching(threshold=0), "threshold is 0"),
        (lambda: Matching(threshold=1.2), "threshold is 1.2"),
        (lambda: Matching(threshold=0.5, grey_from=0.6), "grey band begins at 0.6"),
        (lambda: Matching(by="words", shingles=Shingles("words", 2)), "compared by words"),
        (lambda: Shingles.of("chars"), "no kind of shingle"),
        (lambda: Shingles.of("bytes:3"), "no kind of shingle"),
        (lambda: Shingles.of("words:0"), "holds nothing"),
        (lambda: Normalise.of("nfkc,cases"), "'cases' is no kind of normalisation"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_rows_that_share_a_phrase_by_the_thousand_are_bounded_and_told(monkeypatch):
    monkeypatch.setattr("vedette.tasks.dedupe.index.MOST_IN_BUCKET", 3)
    prefix = "this very same and rather long beginning of a sentence "
    finder = Finder(Matching(threshold=0.95, grey_from=0.5))
    finder.add([prefix + word for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")])
    assert finder.clusters().crowded > 0
