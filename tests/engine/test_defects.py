"""Names that stand twice and numbers without a value are found where they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.engine.constraint.defects import first_defect

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(value=JSON)
def test_what_a_writer_writes_has_no_defect(value: object) -> None:
    assert first_defect(json.dumps(value)) is None
    assert first_defect(json.dumps(value, ensure_ascii=False)) is None


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a":1,"a":2}', '"a"'),
        ('{"x":{"a":1,"b":[{"a":1}],"a":2}}', '"a"'),
        ('{"a":1,"\\u0061":2}', '"\\u0061"'),
        ('{"n":1e999}', "1e999"),
        ("[-2.5e+4000]", "-2.5e+4000"),
    ],
)
def test_the_place_is_the_second_name_or_the_number(text: str, where: str) -> None:
    defect = first_defect(text)
    assert defect is not None
    assert text[defect.start : defect.end] == where
    assert text.rindex(where) == defect.start


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"a":1},"b":{"a":1}}',
        '[{"a":1},{"a":1}]',
        '{"a":"a","b":["a","a"]}',
        '"{\\"a\\":1,\\"a\\":2}"',
    ],
)
def test_the_same_name_elsewhere_is_none(text: str) -> None:
    assert first_defect(text) is None
