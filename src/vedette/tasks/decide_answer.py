"""The answer to a closed question as it goes over the wire, and the right one as rows have it."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.decide.closed import Decision
from vedette.decide.confidence import choice_confidence, expected_level, score_confidence
from vedette.decide.question import Question
from vedette.errors import InputError
from vedette.types import Json

_TRUTHS = {"true": 0, "yes": 0, "1": 0, "false": 1, "no": 1, "0": 1}


def answer_of(question: Question, decision: Decision, digits: int = 4) -> dict[str, Json]:
    """System One's keys, then margin and mass; numbers are rounded to so many decimals."""
    p = decision.probabilities
    answer: dict[str, Json]
    if question.kind == "noul":
        answer = {"type": "noul", "noul": round(p[0], digits)}
    elif question.kind == "choice":
        answer = {
            "type": "choice",
            "choice": decision.best,
            "probabilities": _rounded(question.names, p, digits),
            "confidence": round(choice_confidence(p), digits),
        }
    else:
        levels = [str(i) for i in range(len(p))]
        answer = {
            "type": "score",
            "score": round(expected_level(p), digits),
            "legend": dict(zip(levels, question.names, strict=True)),
            "probabilities": _rounded(levels, p, digits),
            "confidence": round(score_confidence(p), digits),
        }
    return {
        **answer,
        "margin": round(decision.margin, digits),
        "mass": round(decision.mass, digits),
    }


def written_answer(question: Question, said: str) -> dict[str, Json]:
    """The answer where the model wrote an option: every number is null, and `scored` false."""
    if question.kind == "noul":
        return {"type": "noul", "noul": None, "answer": said, "scored": False}
    unknown: dict[str, Json] = {"probabilities": None, "confidence": None, "scored": False}
    if question.kind == "choice":
        return {"type": "choice", "choice": said, **unknown}
    levels = {str(i): name for i, name in enumerate(question.names)}
    return {"type": "score", "score": question.names.index(said), "legend": {**levels}, **unknown}


def said_in(question: Question, answer: dict[str, Json]) -> str:
    """The option that an answer comes down to: the likeliest, or the one that was written."""
    if answer.get("scored") is False:
        if question.kind == "score":
            return question.names[int(_number(answer["score"]))]
        return str(answer["answer" if question.kind == "noul" else "choice"])
    shares = shares_of(question, answer)
    return question.names[max(range(len(shares)), key=shares.__getitem__)]


def _rounded(names: Sequence[str], probabilities: Sequence[float], digits: int) -> dict[str, Json]:
    return {name: round(p, digits) for name, p in zip(names, probabilities, strict=True)}


def shares_of(question: Question, answer: dict[str, Json]) -> list[float]:
    """The probability of each option, in order, from what `answer_of` made."""
    if question.kind == "noul":
        yes = _number(answer["noul"])
        return [yes, 1 - yes]
    probabilities = answer["probabilities"]
    assert isinstance(probabilities, dict)
    return [_number(value) for value in probabilities.values()]


def _number(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)


def right_option(question: Question, value: Json, where: str) -> int | None:
    """The index of the option that a labelled row calls right; None where the row does not say.

    An option goes by its name, a level also by its number counted from 0, yes and no also as
    true and false. Raises `InputError`, with `where` and the options, for anything else.
    """
    if value is None or value == "":
        return None
    said = str(value).strip()
    if said in question.names:
        return question.names.index(said)
    if question.kind == "noul" and said.lower() in _TRUTHS:
        return _TRUTHS[said.lower()]
    is_level = question.kind == "score" and not isinstance(value, bool) and said.isdecimal()
    if is_level and int(said) < len(question.names):
        return int(said)
    raise InputError(
        f"{where}: {question.id} is {value!r}, which is no answer to the question",
        hint=f"the answers are {', '.join(question.names)}",
    )
