"""Patterns of the user's own."""

from __future__ import annotations

import pytest

from vedette.errors import FileError, InputError
from vedette.redaction.detectors.base import MAX_SPAN_CHARS
from vedette.redaction.detectors.custom import read_patterns
from vedette.redaction.redactor import Redactor

GOOD = """
[[pattern]]
kind = "employee"
regex = 'staff (E-\\d{4})'
ignore_case = true

[[pattern]]
kind = "project"
regex = '项目[甲乙丙]'
score = 1.0
"""


def write(tmp_path, text):
    (tmp_path / "p.toml").write_text(text, "utf-8")
    return str(tmp_path / "p.toml")


def test_the_group_is_what_is_found(tmp_path):
    redactor = Redactor.of(["email"], more=read_patterns(write(tmp_path, GOOD)))
    text = "Staff e-1234 works on 项目甲, mail a@b.de"
    found = [(s.kind, text[s.start : s.end], s.score) for s in redactor.find(text)]
    assert found == [
        ("employee", "e-1234", 0.9),
        ("project", "项目甲", 1.0),
        ("email", "a@b.de", 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must have"),
        ("[pattern]\nkind='a'", "must have"),
        ("[[pattern]]\nkind='a'", "needs kind and regex"),
        ("[[pattern]]\nkind='a'\nregex='x'\nflags='i'", "needs kind and regex"),
        ("[[pattern]]\nkind='A b'\nregex='x'", "small letters"),
        ("[[pattern]]\nkind='a'\nregex='('", "regex is none"),
        ("[[pattern]]\nkind='a'\nregex='(a)(b)'", "2 groups"),
        ("[[pattern]]\nkind='a'\nregex='x*'", "matches the empty text"),
        ("[[pattern]]\nkind='a'\nregex='x'\nscore=2", "score"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_place(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read_patterns(write(tmp_path, text))


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(FileError, match="cannot read the patterns"):
        read_patterns(str(tmp_path / "none.toml"))
    with pytest.raises(FileError, match="cannot read the patterns"):
        read_patterns(write(tmp_path, "x = "))


def test_the_kind_of_look_alikes_is_taken(tmp_path):
    patterns = read_patterns(write(tmp_path, "[[pattern]]\nkind='text'\nregex='x'"))
    with pytest.raises(InputError, match="is taken"):
        Redactor.of(more=patterns)


def test_a_match_that_no_stream_could_hold_is_an_error_and_not_cut(tmp_path):
    patterns = read_patterns(write(tmp_path, "[[pattern]]\nkind='a'\nregex='x+'"))
    with pytest.raises(InputError, match="bound its repetitions"):
        Redactor.of(more=patterns).find("x" * (MAX_SPAN_CHARS + 1))
