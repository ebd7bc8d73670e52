"""Guesses that were asked for and never made: the draft takes memory, and nothing else happens."""

from __future__ import annotations

from collections.abc import Sequence

from .sample import Sample
from .side import Variant


def no_op(variant: Variant, samples: Sequence[Sample]) -> str:
    """Why a variant does not do what it was asked to, from its answers; empty if it does.

    For a draft model one answer is enough: it guesses in every step.
    """
    if not variant.asked or any(sample.guessed for sample in samples):
        return ""
    if not any(sample.tokens > 2 for sample in samples):
        return ""  # the last token of an answer is never worth a guess
    n = len(samples)
    answers = "one answer" if n == 1 else f"{n} answers"
    if variant.asked == "ngram":
        return f"n-grams were to guess, and in {answers} nothing was guessed"
    if "--spec-type" in variant.how.split():
        return f"a draft is loaded, and in {answers} nothing was guessed"
    return (
        f"a draft is loaded, and in {answers} nothing was guessed: without --spec-type "
        "a llama-server ignores it; add --spec-type draft-simple"
    )
