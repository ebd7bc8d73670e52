"""A stream of pieces is redacted as the whole text would be, and held only in part."""

from __future__ import annotations

import random

import pytest

from vedette.redaction.detectors.base import MAX_SPAN_CHARS
from vedette.redaction.placeholders import Placeholders
from vedette.redaction.redactor import Redactor
from vedette.redaction.stream import LEFT_CHARS, redact_pieces, restore_pieces

REDACTOR = Redactor.of()
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *["aB3/" * 16] * 40, "-----END PRIVATE KEY-----"])
VALUES = [
    "a@b.de",
    "tel\n030 1234567",
    "11010519491231002X",
    "密码：abc#123",
    KEY,
    "[EMAIL_1]",
    "😀",
]


def text_of(seed: int, n_chars: int, gap: str) -> str:
    rng = random.Random(seed)
    parts, size = [], 0
    while size < n_chars:
        words = gap.join("".join(rng.choices("abcdefg一二三", k=5)) for _ in range(30))
        parts += [words, gap, rng.choice(VALUES), gap]
        size += len(words)
    return "".join(parts)


def cut(text: str, sizes: random.Random, most: int):
    at = 0
    while at < len(text):
        n = sizes.randint(1, most)
        yield text[at : at + n]
        at += n


@pytest.mark.parametrize("gap", ["\n", " ", "，"])
@pytest.mark.parametrize(("chunk", "most"), [(2000, 9000), (20_000, 50_000)])
def test_pieces_give_what_the_whole_gives(gap, chunk, most):
    text = text_of(1, 2 * MAX_SPAN_CHARS, gap)
    whole, entities = Placeholders().replace(text, REDACTOR.find(text))
    pieces = list(
        redact_pieces(
            cut(text, random.Random(2), most), REDACTOR, Placeholders(), chunk_chars=chunk
        )
    )
    assert len(pieces) > 3
    assert "".join(piece.text for piece in pieces) == whole
    assert [e for piece in pieces for e in piece.entities] == entities


def test_no_more_than_a_chunk_and_the_longest_value_is_held():
    held = 0

    def texts():
        nonlocal held
        for _ in range(60):
            held += 5000
            yield "some words\n" * 454 + "abcdef"

    for piece in redact_pieces(texts(), REDACTOR, Placeholders(), chunk_chars=10_000):
        held -= len(piece.text)
        assert held < 10_000 + MAX_SPAN_CHARS + LEFT_CHARS + 10_000


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_placeholders_cut_in_two_are_restored(most):
    mapping = {"[EMAIL_1]": "a@b.de", "[CARD_2.1]": "x[EMAIL_1]"}
    text = "[[EMAIL_1] [CARD_2.1][EMAIL_9] [" * 20
    lost: set[str] = set()
    out = "".join(restore_pieces(cut(text, random.Random(1), most), mapping, lost))
    assert out == "[a@b.de x[EMAIL_1][EMAIL_9] [" * 20
    assert lost == {"[EMAIL_9]"}


def test_nothing_gives_nothing():
    assert "".join(p.text for p in redact_pieces([], REDACTOR, Placeholders())) == ""
    assert "".join(restore_pieces([], {}, set())) == ""
