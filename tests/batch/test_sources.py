"""Readers: every format, every way in which a row can be bad, and what is refused up front."""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.batch import BadRow, Source, rows
from vedette.batch.inputs import SUFFIXES
from vedette.errors import FileError, InputError
from vedette.types import Item


def read(path: Path, content: bytes | str, **options) -> list[Item | BadRow]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(Source(paths=(str(path),), **options).rows())


def texts(found: list[Item | BadRow]) -> list[str | None]:
    return [row.text if isinstance(row, Item) else None for row in found]


def errors(found: list[Item | BadRow]) -> list[str]:
    return [row.error.message for row in found if isinstance(row, BadRow)]


# Plain lines


def test_every_line_is_a_row_numbered_from_one_and_empty_lines_count(tmp_path):
    found = read(tmp_path / "a.log", "one\n\n  three\n")
    assert found == [
        Item(id="1", text="one"),
        Item(id="2", text=""),
        Item(id="3", text="  three"),
    ]


def test_a_last_line_without_newline_is_a_row(tmp_path):
    assert texts(read(tmp_path / "a.txt", "one\ntwo")) == ["one", "two"]


def test_an_empty_file_has_no_rows(tmp_path):
    for suffix in (".log", ".jsonl"):
        assert read(tmp_path / f"empty{suffix}", "") == []


def test_bom_and_crlf_are_no_text_and_nul_and_lone_cr_are(tmp_path):
    content = b"\xef\xbb\xbfone\r\ntw\0o\r\nth\rree\n"
    assert texts(read(tmp_path / "a.log", content)) == ["one", "tw\0o", "th\rree"]


def test_invalid_utf8_is_a_bad_row_and_the_next_row_is_read(tmp_path):
    found = read(tmp_path / "a.log", b"one\nb\xff\nthree\n")
    assert texts(found) == ["one", None, "three"]
    assert found[1].id == "2"
    assert errors(found) == [f"{tmp_path}/a.log line 2: not valid UTF-8 (byte 0xff at position 1)"]


def test_a_line_beyond_the_limit_is_a_bad_row_and_the_next_row_is_read(tmp_path, monkeypatch):
    for module in ("read_lines", "rows"):
        monkeypatch.setattr(f"vedette.batch.{module}.MAX_RECORD_BYTES", 10)
    found = read(tmp_path / "a.log", "1234567890\n12345678901\n" + "x" * 55 + "\nlast\n")
    assert texts(found) == ["1234567890", None, None, "last"]
    assert found[1].error.code == "input_too_long"


def test_a_long_line_within_the_limit_is_whole(tmp_path):
    line = "x" * 3_000_000
    assert texts(read(tmp_path / "a.log", line + "\nnext\n")) == [line, "next"]


def test_ids_run_on_over_several_files(tmp_path):
    (tmp_path / "a.log").write_text("one\ntwo\n")
    (tmp_path / "b.log").write_text("three\n")
    found = list(Source(paths=(f"{tmp_path}/*.log",)).rows())
    assert [(row.id, row.text) for row in found] == [("1", "one"), ("2", "two"), ("3", "three")]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))))
def test_lines_come_back_as_they_were_written(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "property.log"
    content = "".join(line + "\n" for line in lines)
    expected = [line.removeprefix("\ufeff") if i == 0 else line for i, line in enumerate(lines)]
    assert texts(read(path, content)) == expected


# Multi-line records


def test_blank_records_are_separated_by_any_number_of_blank_lines(tmp_path):
    found = read(tmp_path / "a.log", "\n\na\nb\r\n \n\t\nc\n\n\n", records="blank")
    assert texts(found) == ["a\nb", "c"]


def test_regex_records_start_where_the_pattern_is_found(tmp_path):
    content = "\nhead\n2026 a\n  at x\n\n  at y\n\n2026 b\n"
    found = read(tmp_path / "a.log", content, records="regex", pattern=r"^\d{4} ")
    assert texts(found) == ["head", "2026 a\n  at x\n\n  at y", "2026 b"]


def test_blank_lines_before_the_first_regex_record_are_no_row(tmp_path):
    found = read(tmp_path / "a.log", "\n\n2026 a\n", records="regex", pattern="^2026")
    assert texts(found) == ["2026 a"]


def test_a_record_with_a_bad_byte_is_bad_as_a_whole(tmp_path):
    found = read(tmp_path / "a.log", b"a\nb\xff\n\nc\n", records="blank")
    assert texts(found) == [None, "c"]
    assert "line 1: not valid UTF-8" in errors(found)[0]


def test_a_record_of_many_lines_beyond_the_limit_is_bad_and_not_kept(tmp_path, monkeypatch):
    for module in ("read_lines", "rows"):
        monkeypatch.setattr(f"vedette.batch.{module}.MAX_RECORD_BYTES", 20)
    found = read(tmp_path / "a.log", "12345\n" * 50 + "\nnext\n", records="blank")
    assert texts(found) == [None, "next"]


# JSONL


def test_jsonl_rows_are_objects_or_strings_and_blank_lines_are_none(tmp_path):
    content = '{"id":"x","text":"one","n":1}\n\n"two"\n{"id":7,"text":"three"}\n'
    assert read(tmp_path / "a.jsonl", content) == [
        Item(id="x", text="one"),
        Item(id="2", text="two"),
        Item(id="7", text="three"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"text":', "not valid JSON"),
        (b'{"text":"\xff"}', "not valid UTF-8"),
        (b'{"txt":"a"}', "there is no field 'text' (the row's fields: 'txt')"),
        (b'{"text":3}', "the field 'text' is a number, not a string"),
        (b'{"text":null}', "is null, not a string"),
        (b"[1]", "the row is an array, not an object with a field 'text' or a string"),
        (b'{"text":"a","id":1.5}', "the id field 'id' is a number"),
        (b'{"text":"a","id":true}', "the id field 'id' is a boolean"),
        (b'{"text":"\\ud800"}', "not valid JSON"),
        (b'{"text":"a\0"}', "not valid JSON"),
    ],
)
def test_a_bad_jsonl_row_says_where_and_what_and_the_reading_goes_on(tmp_path, line, said):
    found = read(tmp_path / "a.jsonl", b'"first"\n' + line + b'\n"third"\n')
    assert texts(found) == ["first", None, "third"]
    assert said in errors(found)[0]
    assert "a.jsonl line 2: " in errors(found)[0]


def test_a_bad_row_keeps_its_own_id_when_it_has_one(tmp_path):
    found = read(tmp_path / "a.jsonl", '{"id":"x9","txt":"a"}\n')
    assert found[0].id == "x9"


def test_named_fields_are_used_and_only_named_columns_are_kept(tmp_path):
    content = '{"key":"k","body":"b","lang":"de","other":1}\n{"body":"c","lang":"en"}\n'
    found = read(
        tmp_path / "a.jsonl", content, text_field="body", id_field="key", columns=("lang",)
    )
    assert found[0] == Item(id="k", text="b", columns={"lang": "de"})
    assert errors(found) == [f"{tmp_path}/a.jsonl line 2: there is no id field 'key'"]


WHOLE = {"whole_rows": True, "needs_text": False, "needs_columns": False, "columns": ("a",)}


def test_whole_rows_have_all_their_fields_and_need_no_text(tmp_path):
    content = '{"id":7,"a":1,"b":[2]}\n{"a":null}\n{"b":1}\n"text"\n'
    found = read(tmp_path / "a.jsonl", content, **WHOLE)
    assert found[0] == Item(id="7", text="", columns={"id": 7, "a": 1, "b": [2]})
    assert found[1] == Item(id="2", text="", columns={"a": None})
    assert errors(found) == [
        f"{tmp_path}/a.jsonl line 3: there is none of the fields 'a'",
        f"{tmp_path}/a.jsonl line 4: the row is a string, not an object",
    ]


def test_whole_rows_of_csv_need_the_named_columns_and_each_once(tmp_path):
    found = read(tmp_path / "a.csv", "a,b\n1,x\n", **WHOLE)
    assert found == [Item(id="1", text="", columns={"a": "1", "b": "x"})]
    with pytest.raises(FileError, match="no column 'a'"):
        read(tmp_path / "b.csv", "b,c\n1,x\n", **WHOLE)
    with pytest.raises(FileError, match="'b' twice"):
        read(tmp_path / "c.csv", "a,b,b\n1,x,y\n", **WHOLE)


# CSV


def test_csv_quotes_newlines_and_tabs(tmp_path):
    content = '\ufefftext,id\r\n"a ""b"", c",x\r\n"two\r\nlines",y\r\n\r\nplain,z\r\n'
    found = read(tmp_path / "a.csv", content)
    assert [(row.id, row.text) for row in found] == [
        ("x", 'a "b", c'),
        ("y", "two\r\nlines"),
        ("z", "plain"),
    ]
    assert texts(read(tmp_path / "a.tsv", "text\tn\na,b\t1\n")) == ["a,b"]


def test_a_bad_csv_row_costs_that_row_only(tmp_path):
    content = b'text,n\na,1\nb\n\xff,2\n"c"d,3\ne,4\n'
    found = read(tmp_path / "a.csv", content)
    assert texts(found) == ["a", None, None, None, "e"]
    said = errors(found)
    assert "line 3: 1 fields where the header has 2" in said[0]
    assert "line 4: not valid UTF-8" in said[1]
    assert "line 5: broken CSV" in said[2]


def test_an_open_quote_at_the_end_is_said_not_swallowed(tmp_path):
    found = read(tmp_path / "a.csv", 'text\na\n"b\nc\n')
    assert texts(found) == ["a", None]
    assert found[1].error.hint == "is a quote left open?"


def test_an_over_long_csv_line_costs_that_row_only(tmp_path, monkeypatch):
    for module in ("read_lines", "rows"):
        monkeypatch.setattr(f"vedette.batch.{module}.MAX_RECORD_BYTES", 10)
    found = read(tmp_path / "a.csv", "text\na\n" + "x" * 30 + "\nb\n")
    assert texts(found) == ["a", None, "b"]


@pytest.mark.parametrize("content", ["", "id,body\n1,a\n", "text,text\na,b\n"])
def test_a_csv_header_without_one_text_column_is_refused_up_front(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(FileError, match=r"the CSV header has (no|two)") as caught:
        Source(paths=(str(path),)).check()
    assert "--text-field" in (caught.value.hint or "")


# Parquet


def parquet(path: Path, **columns) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table(columns), path, row_group_size=100)
    return path


def test_parquet_rows_have_text_id_and_columns_over_row_groups(tmp_path):
    number = 1000
    path = parquet(
        tmp_path / "a.parquet",
        text=[f"t{i}" for i in range(number)],
        id=list(range(5, number + 5)),
        n=list(range(number)),
    )
    found = list(Source(paths=(str(path),), columns=("n",)).rows())
    assert len(found) == number
    assert found[999] == Item(id="1004", text="t999", columns={"n": 999})


def test_dates_and_decimals_in_whole_parquet_rows_are_text(tmp_path):
    path = parquet(
        tmp_path / "a.parquet",
        a=[date(2026, 1, 31)],
        b=[datetime(2026, 1, 31, 12, 5)],
        c=[Decimal("1.20")],
        d=["x"],
    )
    (found,) = Source(paths=(str(path),), **WHOLE).rows()
    assert found.columns == {"a": "2026-01-31", "b": "2026-01-31T12:05:00", "c": "1.20", "d": "x"}


def test_a_null_in_parquet_is_a_bad_row(tmp_path):
    path = parquet(tmp_path / "a.parquet", text=["a", None, "c"])
    found = list(Source(paths=(str(path),)).rows())
    assert texts(found) == ["a", None, "c"]
    assert "row 2: the field 'text' is null" in errors(found)[0]


def test_parquet_without_text_or_not_parquet_is_refused_up_front(tmp_path):
    path = parquet(tmp_path / "a.parquet", body=["a"], n=[1])
    with pytest.raises(FileError, match=r"no column 'text' \(it has: 'body', 'n'\)"):
        Source(paths=(str(path),)).check()
    with pytest.raises(FileError, match="holds int64, not strings"):
        Source(paths=(str(path),), text_field="n").check()
    path.write_text("hello")
    with pytest.raises(FileError, match="not a readable Parquet file"):
        Source(paths=(str(path),)).check()


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    def missing(name: str):
        raise ImportError(name)

    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr("vedette.batch.read_parquet.import_module", missing)
    with pytest.raises(FileError, match="needs pyarrow") as caught:
        Source(paths=(str(path),)).check()
    assert caught.value.hint == "pip install 'vedette[data]'"


# Which files


@pytest.mark.parametrize("suffix", sorted(key for key in SUFFIXES if SUFFIXES[key] != "parquet"))
def test_gzip_and_upper_case_suffixes_are_seen_through(tmp_path, suffix):
    content = b'{"text":"a"}\n' if SUFFIXES[suffix] == "jsonl" else b"text\na\n"
    found = read(tmp_path / f"A{suffix.upper()}.gz", gzip.compress(content))
    assert texts(found) == ["a"]


def test_a_cut_gzip_file_is_a_file_error(tmp_path):
    packed = gzip.compress("".join(f"{i} {i * i}\n" for i in range(5000)).encode())
    with pytest.raises(FileError, match=r"cannot read .*a\.log\.gz"):
        read(tmp_path / "a.log.gz", packed[: len(packed) // 2])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.log", None, "No such file"),
        ("no*.log", None, "no file matches"),
        ("utf16.log", "a".encode("utf-16"), "UTF-16"),
        ("a.log", b"PAR1....", "a Parquet file"),
        ("b.jsonl", b"\x1f\x8b...", "a gzip file"),
        ("c.csv", b"PK\x03\x04..", "a zip archive"),
        (".", None, "is a folder"),
    ],
)
def test_a_file_that_cannot_hold_rows_is_refused_before_the_first_row(
    tmp_path, name, content, said
):
    good = tmp_path / "good.log"
    good.write_text("a\n")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=said):
        Source(paths=(str(good), str(tmp_path / name))).check()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"paths": ()}, "there is no input"),
        ({"paths": ("-", "-")}, "only once"),
        ({"limit": 0}, "--limit is 0"),
        ({"sample": 0}, "--sample is 0"),
        ({"limit": 1, "sample": 1}, "exclude each other"),
        ({"paths": ("-",), "sample": 1}, "stdin does not allow"),
        ({"records": "regex"}, "go together"),
        ({"pattern": "x"}, "go together"),
        ({"records": "regex", "pattern": "("}, "no regular expression"),
        ({"format": "jsonl", "records": "blank"}, "for plain text"),
        ({"text_field": "body"}, "'body' is asked for, but the input is plain text"),
        ({"columns": ("lang",)}, "'lang' is asked for"),
        ({"paths": ("-",), "records": "blank", "id_field": "k"}, "'k' is asked for"),
        ({"paths": ("-",), "format": "parquet"}, "from stdin"),
        ({"paths": ("a.json",)}, "can be one document or many rows"),
    ],
)
def test_an_option_that_cannot_be_met_is_refused_not_ignored(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("a\n")
    with pytest.raises(InputError, match=said):
        Source(**{"paths": ("a.log",), **options}).check()


# Limit, sample, total


def test_limit_takes_the_first_rows_and_total_knows_it(tmp_path):
    found = read(tmp_path / "a.log", "a\nb\nc\n", limit=2)
    assert texts(found) == ["a", "b"]
    assert Source(paths=(f"{tmp_path}/a.log",), limit=2).total() == 2
    assert Source(paths=(f"{tmp_path}/a.log",)).total() == 3


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 5))
def test_a_sample_is_repeatable_in_order_without_repeats_and_of_its_size(
    tmp_path_factory, count, size, seed
):
    path = tmp_path_factory.getbasetemp() / "sample.log"
    path.write_text("".join(f"{i}\n" for i in range(count)))
    source = Source(paths=(str(path),), sample=size, seed=seed)
    found = [int(row.text) for row in source.rows()]
    assert found == sorted(set(found))
    assert len(found) == min(size, count) == source.total()
    assert found == [int(row.text) for row in source.rows()]


def test_seeds_sample_differently(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("".join(f"{i}\n" for i in range(1000)))
    one, two = (
        [row.text for row in Source(paths=(str(path),), sample=20, seed=seed).rows()]
        for seed in (1, 2)
    )
    assert one != two


def test_json_kinds_have_their_json_names():
    kinds = [rows.json_kind(json.loads(text)) for text in ("null", "true", "1", '"a"', "[]", "{}")]
    assert kinds == ["null", "a boolean", "a number", "a string", "an array", "an object"]
