"""Nothing that an engine can be asked frees its output, ends it, or silences it.

These are the small cases of `benchmarks/constraint_fuzz.py`, which has the large ones too.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from fuzz_campaign import Fault, Limits, Tally, run
from fuzz_cases import Case, cases
from fuzz_judge import Judge
from fuzz_process import Child, Died

SMALL_CHARS = 1500
N_CASES = 150
NEVER = Limits(start_s=1e9, whole_s=1e9)  # a busy machine is no fault


def small_cases(seed: int) -> list[Case]:
    found = (case for case in cases(10 * N_CASES, seed) if len(case.source) <= SMALL_CHARS)
    return [*islice(found, N_CASES)]


@pytest.fixture(scope="module")
def tally(tiny_full: Path) -> Tally:
    return run(small_cases(1), tiny_full, NEVER, lambda fault: None)


def test_every_answer_is_one_that_was_asked_for_and_the_engine_goes_on(tally: Tally) -> None:
    assert [_told(fault) for fault in tally.faults] == []
    assert sum(tally.outcomes.values()) == N_CASES


def test_answers_are_given_and_judged(tally: Tally) -> None:
    assert tally.outcomes["answered"] > N_CASES / 5
    assert tally.outcomes["refused"] > N_CASES / 5
    assert tally.verdicts["valid"] > 0.9 * tally.outcomes["answered"]
    for kind in ("json_schema", "gbnf", "lark", "regex", "choice"):
        assert tally.by_kind[kind, "answered"]


def test_the_cases_are_the_same_for_the_same_seed() -> None:
    assert [*cases(20, 1)] == [*cases(20, 1)] != [*cases(20, 2)]


@pytest.mark.parametrize(
    ("kind", "source", "right", "wrong"),
    [
        ("json_schema", '{"type":"string","format":"date"}', '"2024-02-29"', '"2023-02-29"'),
        ("json_schema", '{"type":"object"}', '{"a":1}', '{"a":1,"a":2}'),
        ("choice", '["a","ab"]', "ab", "abc"),
        ("regex", "[0-9]{2}", "12", "123"),
        ("regex", r"\p{L}", "é", "1"),
        ("lark", 'start: "a"+', "aaa", "ab"),
    ],
)
def test_the_judge_tells_right_from_wrong(
    tiny_full: Path, kind: str, source: str, right: str, wrong: str
) -> None:
    judge = Judge(tiny_full)
    case = {"kind": kind, "source": source}
    assert judge.verdict(case, {"text": right}) == "valid"
    assert judge.verdict(case, {"text": wrong}) == "invalid"


def test_the_judge_asks_llama_cpp_about_gbnf(tiny_full: Path) -> None:
    judge = Judge(tiny_full)
    case = {"kind": "gbnf", "source": 'root ::= "a" [bc]'}
    assert judge.verdict(case, {"text": "ab", "tokens": [*b"ab"]}) == "valid"
    assert judge.verdict(case, {"text": "a", "tokens": [*b"a"]}) == "invalid"


def test_a_process_that_dies_is_told_and_begun_again(tiny_full: Path) -> None:
    with Child("judge", tiny_full) as child:
        for _ in range(2):
            with pytest.raises(Died, match="KeyError"):
                child.ask({"no": "case"}, patience_s=60)
        assert child.starts == 2


def _told(fault: Fault) -> str:
    return f"{fault.what}: {fault.case}: {fault.detail}"
