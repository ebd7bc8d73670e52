"""`vedette.dedupe` on rows in memory."""

from __future__ import annotations

import pytest

import vedette
from vedette.errors import InputError
from vedette.types import Capabilities, Scores, Usage

FOX = "the quick brown fox jumps over the lazy dog"
CAT = "the quick brown fox jumps over my lazy cat"


class Yes:
    """Answers yes to every pair."""

    capabilities = Capabilities(can_score=True)
    width = 2

    def __init__(self):
        self.identity = {"model": "yes"}
        self.is_open = True

    def submit(self, request):
        assert self.is_open
        return self

    def result(self, timeout_s=None):
        return Scores(choices=("yes", "no"), logprobs=(-0.1, -2.0), usage=Usage())

    def cancel(self):
        pass

    def on_done(self, callback):
        callback()

    def count_tokens(self, text):
        return len(text.split())

    def close(self):
        self.is_open = False


def test_texts_are_compared_without_a_model():
    found = vedette.dedupe([FOX, "other", FOX.upper(), FOX + "s", ""])
    assert [(one.representative, one.how) for one in found] == [
        *((0, None), (1, None), (0, "exact"), (0, "near"), (4, None))
    ]


def test_records_are_compared_by_their_fields():
    rows = [{"a": "x", "b": 1, "c": 5}, {"a": "X", "b": 1}, {"a": "x", "b": 2}]
    found = vedette.dedupe(rows, fields=["a", "b"])
    assert [one.representative for one in found] == [0, 0, 2]


def test_a_given_backend_judges_the_grey_pairs_and_stays_open():
    backend = Yes()
    found = vedette.dedupe([FOX, CAT], threshold=0.9, model_check=True, backend=backend)
    assert [one.representative for one in found] == [0, 0]
    assert found[1].how == "model"
    assert backend.is_open


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (["a"], {"fields": ["x"]}, "row 0 is a text"),
        (["a", {"x": 1}], {}, "row 1 is a record"),
        ([{"y": 1}], {"fields": ["x"]}, "row 0 has none of the fields 'x'"),
        (["a"], {"grey_from": 0.4}, "model_check is not"),
        (["a"], {"model": "m"}, "model_check is not"),
    ],
)
def test_rows_and_options_that_cannot_be_meant_are_refused(rows, options, said):
    with pytest.raises(InputError, match=said):
        vedette.dedupe(rows, **options)
