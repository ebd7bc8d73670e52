"""What a user writes by hand: field lists, label lists, example rows, verbatim names, prompts."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.errors import FileError, InputError, LabelError, SchemaError
from vedette.tasks.examples import extract_examples, label_examples
from vedette.tasks.fields import schema_of_fields
from vedette.tasks.labels import Label, read_labels
from vedette.tasks.prompt_data import fill, text_of
from vedette.tasks.verbatim import mark_verbatim

FIELDS = [
    ("a", {"type": ["string", "null"]}, "text", 3),
    ("a:string", {"type": ["string", "null"]}, None, 3),
    ("a:span", {"type": ["string", "null"], "x-verbatim": True}, "text", 3),
    ("a:int", {"type": ["integer", "null"]}, 3, 3.5),
    ("a:number", {"type": ["number", "null"]}, 3.5, "x"),
    ("a:bool", {"type": ["boolean", "null"]}, True, 1),
    ("a:date", {"type": ["string", "null"], "format": "date"}, "2026-01-31", "31.1."),
    ("a:strings", {"type": "array", "items": {"type": "string"}}, ["x"], None),
    ("a:X | Y", {"enum": ["X", "Y", None]}, "Y", "Z"),
]


@pytest.mark.parametrize(("spec", "field", "good", "bad"), FIELDS)
def test_a_field_has_its_type_and_may_be_null(spec, field, good, bad):
    schema = schema_of_fields(spec)
    assert schema["properties"] == {"a": field}
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    assert validator.is_valid({"a": good})
    assert not validator.is_valid({"a": bad})
    assert not validator.is_valid({})
    assert not validator.is_valid({"a": good, "b": 1})


def test_a_field_list_keeps_its_order_and_ignores_spaces():
    schema = schema_of_fields(" level : INFO|WARN , größe:int,message ")
    assert list(schema["properties"]) == schema["required"] == ["level", "größe", "message"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "'' is not a field"),
        ("a,,b", "'' is not a field"),
        ("1a", "'1a' is not a field"),
        ("a b", "'a b' is not a field"),
        ("a,b:int,a", "a is there twice"),
        ("a:", "a has the unknown type ''"),
        ("a:text", "a has the unknown type 'text'"),
        ("a:X||Y", "an empty or a repeated value: X||Y"),
        ("a:X|X", "an empty or a repeated value: X|X"),
    ],
)
def test_what_is_no_field_list_is_said(spec, said):
    with pytest.raises(SchemaError) as caught:
        schema_of_fields(spec)
    assert said in caught.value.message


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_valid_schema_or_a_schema_error(spec):
    try:
        schema = schema_of_fields(spec)
    except SchemaError:
        return
    jsonschema_rs.validator_for(schema)


def test_labels_from_a_list():
    assert read_labels(" good, bad ,N/A") == (Label("good"), Label("bad"), Label("N/A"))


def test_a_long_label_list_is_not_taken_for_a_file_name():
    names = [f"label {i}" for i in range(2000)]
    assert [label.name for label in read_labels(",".join(names))] == names


@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("l.txt", "# ours\ngood: it is: fine\n\n bad \n", [("good", "it is: fine"), ("bad", "")]),
        ("l.txt", "\ufeffgood\r\nbad\r\n", [("good", ""), ("bad", "")]),
        ("l.json", '["good", "bad"]', [("good", ""), ("bad", "")]),
        ("l.json", '{"good": "fine", "bad": null}', [("good", "fine"), ("bad", "")]),
        ("no_suffix", "good\nschlecht: 坏", [("good", ""), ("schlecht", "坏")]),
    ],
)
def test_labels_from_a_file(tmp_path, name, content, labels):
    path = tmp_path / name
    path.write_text(content, "utf-8")
    assert read_labels(str(path)) == tuple(Label(*label) for label in labels)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\nb\na\n", "duplicates: 'a'"),
        ('["a", "a"]', "duplicates: 'a'"),
        ('{"a": "x", "a": "y"}', "duplicates: 'a'"),
        ("# nothing\n", "empty"),
        ("[]", "empty"),
        ("a\n: what\n", "empty name"),
        ('["a", 3]', "is not a label list"),
        ('{"a": {"b": "c"}}', "is not a label list"),
        ('{"a": ', "is not JSON"),
    ],
)
def test_a_label_file_that_cannot_be_used(tmp_path, content, said):
    path = tmp_path / "labels.txt"
    path.write_text(content, "utf-8")
    with pytest.raises(LabelError) as caught:
        read_labels(str(path))
    assert said in caught.value.message


@pytest.mark.parametrize("spec", ["a,b,a", "", " , ", "a,"])
def test_a_label_list_that_cannot_be_used(spec):
    with pytest.raises(LabelError):
        read_labels(spec)


def test_a_label_file_that_cannot_be_read(tmp_path):
    latin = tmp_path / "latin.txt"
    latin.write_bytes("schön\n".encode("latin-1"))
    for path, reason in [
        (tmp_path / "none.txt", "No such file"),
        (tmp_path, "Is a directory"),
        (latin, "not UTF-8"),
    ]:
        with pytest.raises(FileError) as caught:
            read_labels(str(path))
        assert str(path) in caught.value.message
        assert reason in caught.value.message
        assert "Errno" not in caught.value.message


def test_example_rows_may_hold_any_line_separator_inside_a_string():
    rows = extract_examples('{"text": "a\u2028b", "value": {"x": 1}}\r\n\n', "rows.jsonl")
    assert [(row.text, row.value) for row in rows] == [("a\u2028b", {"x": 1})]


def test_label_rows_have_one_label_or_several():
    source = '{"text": "a", "label": "x"}\n{"text": "b", "labels": ["x", "y"]}'
    assert [row.labels for row in label_examples(source, "rows.jsonl")] == [("x",), ("x", "y")]


@pytest.mark.parametrize(
    ("read", "line", "said"),
    [
        (extract_examples, "{", "is not JSON"),
        (extract_examples, "[]", 'has no "text"'),
        (extract_examples, '{"text": 3, "value": 1}', 'has no "text"'),
        (extract_examples, '{"text": "a"}', 'has no "value"'),
        (label_examples, '{"text": "a"}', 'has no "label"'),
        (label_examples, '{"text": "a", "label": 3}', 'has no "label"'),
        (label_examples, '{"text": "a", "labels": "x"}', 'has no "label"'),
    ],
)
def test_a_bad_example_row_is_named_by_its_line(read, line, said):
    good = '{"text": "a", "value": null, "label": "x"}'
    with pytest.raises(InputError) as caught:
        read(f"{good}\n\n{line}\n{good}", "rows.jsonl")
    assert caught.value.message.startswith(f"rows.jsonl, line 3 {said}")


@pytest.mark.parametrize("read", [extract_examples, label_examples])
def test_a_file_without_examples_is_refused(read):
    with pytest.raises(InputError, match=r"rows\.jsonl has no rows"):
        read("\n\n", "rows.jsonl")


def test_fields_are_declared_verbatim_without_touching_the_schema():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    marked = mark_verbatim(schema, ["b"])
    assert marked["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "string", "x-verbatim": True},
    }
    assert "x-verbatim" not in schema["properties"]["b"]


@pytest.mark.parametrize("schema", [{}, {"properties": {"a": True}}])
def test_an_unknown_field_cannot_be_verbatim(schema):
    with pytest.raises(SchemaError, match="no property 'c'"):
        mark_verbatim(schema, ["c"])


def test_what_a_value_brings_along_is_not_filled_in():
    assert fill("{a} {b} {c} {", a="{b}", b="{a}{{") == "{b} {a}{{ {c} {"
    template = text_of("classify", "user_multi")
    asked = fill(template, text="{label}{description}{text}", label="{text}", description=" {x}")
    assert "Text: {label}{description}{text}\n" in asked
    assert '"{text}" {x} apply' in asked


def test_a_list_in_a_prompt_file_is_not_a_text():
    with pytest.raises(TypeError, match="content_free"):
        text_of("classify", "content_free")
