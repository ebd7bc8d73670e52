"""The shipped parameters on published runs that a planner must not get wrong.

Rows of public threads, as benchmarks/spec_plan_rows.py reads them.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from spec_plan_rows import Held, hold, read_rows

from vedette.spec.parameters import parameters

HEADER = (
    "hardware,target,draft,method,k,acceptance,acceptance_low,acceptance_high,"
    "baseline_tps,speculative_tps,source\n"
)
PAYS = """\
RTX 5060 Laptop 8GB,Qwen3.8-27B,in-model MTP head,draft-mtp,2,0.9,0.75,0.97,4.2,7.3,qwen38-mtp
RTX 4090 24GB (UD-Q4_K_XL),Qwen3.8-27B,in-model MTP head,draft-mtp,2,,0.56,0.94,36.1,74.8,qwen38-mtp
Tesla V100 32GB (Volta),Qwen3.8-27B,in-model MTP head,draft-mtp,2,0.75,,,33.3,48.0,qwen38-mtp
RTX 3060 12GB,Llama-3.1-8B Q8,Llama-3.2-1B Q8,draft-simple,5,0.72,,,32.5,55.5,llama.cpp#5877
Ryzen 7950X CPU,CodeLlama-34B Q4,CodeLlama-7B Q3,draft-simple,,,,,3.3,6.2,llama-cpp-python#675
"""
LOSES = """\
"RTX 4060 Laptop 8GB, 20 target layers on GPU",27B Q4_K_M,0.8B Q4_K_M,draft-simple,8,,,,3.5,3.1,a
"RTX 4060 Laptop 8GB, 13 target layers on GPU",27B Q4_K_M,4B Q4_K_M,draft-simple,8,,,,3.5,2.8,a
"RTX 4060 Laptop 8GB, 0 target layers on GPU",27B Q4_K_M,9B Q4_K_M,draft-simple,8,,,,3.5,2.5,a
Apple M4 Pro,Qwen2.5-Coder-32B Q4,Qwen2.5-Coder-3B Q4,draft-simple,16,0.343,,,11.0,10.8,#10455
2-core AVX-512 CPU,Qwen2.5-Coder-1.5B Q4_K_M,Qwen2.5-Coder-0.5B,draft-simple,4,0.82,,,39.0,20.0,own
"""


@pytest.fixture
def held(tmp_path: Path) -> list[Held]:
    path = tmp_path / "runs.csv"
    path.write_text(HEADER + PAYS + LOSES, encoding="utf-8")
    rows = read_rows(path)
    return hold(rows, parameters().fit, rows)


def test_signs_are_right(held: list[Held]):
    assert len(held) == 10
    assert [each.row.hardware for each in held if not each.right] == []


def test_the_median_error_is_below_a_fifth(held: list[Held]):
    assert median(each.error for each in held) < 0.2
