"""What a rewritten text may not bring in."""

from __future__ import annotations

import pytest

from vedette.tasks.faithful import Source, script_of

QUESTION = Source(
    "How do I upgrade PostgreSQL 15 to 16.2 on my Mac with pg_upgrade?", "user: I use Docker."
)


@pytest.mark.parametrize(
    "text",
    [
        "upgrade postgresql 15 to 16.2 on Mac",
        "How can I move PostgreSQL to a new major version?",
        "Steps for pg_upgrade. Then Docker",
        "docker mac upgrade, I think",
    ],
)
def test_what_keeps_to_question_and_history_has_no_fault(text):
    assert QUESTION.fault(text) is None


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("upgrade PostgreSQL 15 to 16", '"16"'),
        ("upgrade PostgreSQL 14 to 16.2", '"14"'),
        ("upgrade MySQL on Mac", '"MySQL"'),
        ("how Ubuntu upgrades it", '"Ubuntu"'),
        ("NASA upgrade", '"NASA"'),
        ('the "old cluster" upgrade', '"old cluster"'),
        ("run pg_dump first", '"pg_dump"'),
        ("upgrade with --link", '"--link"'),
        ("see postgresql.org", '"postgresql.org"'),
    ],
)
def test_a_name_or_number_that_is_not_there_is_named(text, strange):
    assert QUESTION.fault(text) == f"{strange} is not in the question."


def test_passages_are_held_to_numbers_only():
    assert QUESTION.fault("On Ubuntu use pg_dump.", names=False) is None
    assert "42" in QUESTION.fault("It takes 42 minutes.", names=False)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("how are you", "LATIN"),
        ("如何升级 PostgreSQL", "HAN"),
        ("PostgreSQL のアップグレード方法", "KANA"),
        ("как обновить", "CYRILLIC"),
        ("어떻게 하나요", "HANGUL"),
        ("123 ...", None),
    ],
)
def test_the_script_of_a_text(text, script):
    assert script_of(text) == script


def test_chinese_stays_chinese():
    source = Source("我买的 iPhone 15 屏幕坏了，怎么保修？")
    assert source.fault("iPhone 15 屏幕保修") is None
    assert "language" in source.fault("iPhone 15 screen warranty")
    assert "《三包法》"[1:4] in source.fault("《三包法》屏幕保修")
    assert source.fault("手机保修 24 个月") == '"24" is not in the question.'
    assert source.fault("iPhone １５ 保修") is None  # full-width digits are the same number


def test_an_empty_text_is_a_fault():
    assert QUESTION.fault(" ") == "It is empty."
