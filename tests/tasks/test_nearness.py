"""How near a query is to passages, by made-up places."""

from __future__ import annotations

import numpy as np
import pytest

from vedette.tasks.nearness import nearness

RNG = np.random.default_rng(1)


def vectors(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def test_a_passage_in_the_querys_place_is_nearest_of_all_and_no_cosine_leaves_its_range():
    passages = vectors(20, 60)
    found = nearness(passages[7], passages)
    assert found[7] == pytest.approx(1, abs=1e-5)
    assert max(found) == found[7]
    assert min(found) >= -1.00001


def test_what_all_places_have_in_common_counts_for_nothing():
    passages, query = vectors(10, 30), vectors(30)
    common = 100 * vectors(30)
    found = nearness(query, passages)
    assert nearness(query + common, passages + common) == pytest.approx(found, abs=1e-3)
    assert nearness(query + 9, passages - 5) == pytest.approx(found, abs=1e-3)


def test_a_direction_in_which_passages_differ_much_does_not_drown_the_others():
    quiet, loud = vectors(30, 400), vectors(400)
    passages = quiet + np.linspace(-6, 6, 30, dtype=np.float32)[:, None] * loud
    query = quiet[20] + 6 * loud  # like the 21st, but as loud as the last
    moved = passages - passages.mean(axis=0)
    cosines = moved @ (query - passages.mean(axis=0)) / np.linalg.norm(moved, axis=1)
    assert int(np.argmax(cosines)) != 20
    assert int(np.argmax(nearness(query, passages))) == 20


def test_passages_that_do_not_differ_are_all_at_0():
    assert nearness(vectors(5), vectors(1, 5)) == [0.0]
    assert nearness(vectors(5), np.ones((4, 5), np.float32)) == [0.0] * 4
