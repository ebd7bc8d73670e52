"""Prompts are distinct, of every kind, and mistakes in a file of them are told."""

from __future__ import annotations

from collections import Counter

import pytest

from vedette.errors import FileError, InputError
from vedette.spec.bench.prompts import WARM_UP, bundled_prompts, choose, parse_prompts, read_prompts


def test_there_are_a_dozen_and_more_for_each_workload_and_none_begins_like_another():
    prompts = bundled_prompts()
    counts = Counter(prompt.workload for prompt in prompts)
    assert counts.keys() == {"code", "json", "prose", "copy"}
    assert min(counts.values()) >= 12
    assert WARM_UP.text not in {prompt.text for prompt in prompts}


def test_workloads_take_turns():
    chosen = choose(bundled_prompts(), 2)
    assert [p.workload for p in chosen] == ["code", "json", "prose", "copy"] * 2


@pytest.mark.parametrize("requests", [0, 100])
def test_more_prompts_than_there_are_cannot_be_asked(requests):
    with pytest.raises(InputError, match="has 14 prompts"):
        choose(bundled_prompts(), requests)


def test_id_and_workload_may_be_left_out():
    (first, second) = parse_prompts('{"prompt": "a"}\n\n{"prompt": "b", "workload": "w"}', "x")
    assert (first.id, first.workload, second.id, second.workload) == ("1", "own", "3", "w")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x has no prompts"),
        ("nothing", "line 1 is not JSON"),
        ("[1]", "line 1 is not an object"),
        ('{"text": "a"}', "has the key 'text'"),
        ('{"prompt": " "}', "has no prompt"),
        ('{"prompt": "a", "id": 3}', "has no id"),
        ('{"prompt": "a"}\n{"prompt": "a"}', "line 2: the prompt of line 1 comes again"),
        ('{"prompt": "a", "id": "2"}\n{"prompt": "b"}', "line 2: the id of line 1 comes again"),
    ],
)
def test_what_is_no_prompt_is_told(text, message):
    with pytest.raises(InputError, match=message):
        parse_prompts(text, "x")


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(FileError, match="cannot read"):
        read_prompts(str(tmp_path / "none.jsonl"))
    (tmp_path / "latin.jsonl").write_bytes(b'{"prompt": "\xe9"}')
    with pytest.raises(FileError, match="not UTF-8"):
        read_prompts(str(tmp_path / "latin.jsonl"))
