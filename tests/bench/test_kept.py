"""Answers that measurements keep: gone on with, and never mixed with another run's."""

from __future__ import annotations

import pytest
from kept import Kept, json_file, json_lines

from vedette.errors import InputError

ABOUT = {"model": "small"}


def test_answers_are_there_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    Kept(path, ABOUT).add("1", {"sql": "select 1"})
    again = Kept(path, ABOUT)
    assert again.get("1") == {"sql": "select 1"}
    assert again.get("2") is None


def test_half_a_line_is_cut_off(tmp_path):
    path = tmp_path / "answers.jsonl"
    Kept(path, ABOUT).add("1", {"n": 1})
    with path.open("a") as file:
        file.write('{"key": "2", "ans')
    Kept(path, ABOUT).add("3", {"n": 3})
    again = Kept(path, ABOUT)
    assert [again.get(key) for key in "123"] == [{"n": 1}, None, {"n": 3}]


def test_another_models_answers_are_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    Kept(path, ABOUT).add("1", {})
    with pytest.raises(InputError, match="another run"):
        Kept(path, {"model": "large"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ('{"id": 1}\nnot json\n', "line 2 of .* is not JSON"),
        ('{"id": 1}\n{"no": 1}\n', "line 2 of .* has no 'id'"),
        ("[1]\n", "line 1 of .* has no 'id'"),
    ],
)
def test_rows_that_cannot_be_used_are_one_sentence(tmp_path, text, said):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        json_lines(path, "id")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    for read in (json_lines, json_file):
        with pytest.raises(InputError, match="cannot read"):
            read(tmp_path / "none")
