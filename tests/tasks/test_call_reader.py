"""Calls read out of an answer, however it is cut into pieces; chats with tools in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.engine.call_form import CallTexts
from vedette.errors import ConstraintFailed, InputError
from vedette.tasks.call_grammar import CallGrammar
from vedette.tasks.call_reader import Argued, Called, CallReader
from vedette.tasks.chat_tools import WRITTEN, WRITTEN_FORM, in_words, with_tools_in_words
from vedette.tasks.tool_defs import tools_of
from vedette.types import Message, ToolCall

HERMES = CallTexts(
    opening='<tool_call>\n{"name": "',
    middle='", "arguments": ',
    closing="}\n</tool_call>",
    between='}\n</tool_call>\n<tool_call>\n{"name": "',
)
TOOLS = tools_of([{"name": "find", "description": "Finds."}])


def read(texts, pieces):
    """The calls, with the check that each begins before its arguments."""
    calls, whole = [], []
    reader = CallReader(texts)
    for event in [event for piece in pieces for event in reader.push(piece)]:
        match event:
            case Called(index, name):
                assert index == len(calls) == len(whole)
                calls.append((name, ""))
            case Argued(index, text, is_whole):
                assert index == len(calls) - 1
                calls[-1] = (calls[-1][0], calls[-1][1] + text)
                whole += [index] if is_whole else []
    reader.finish()
    assert whole == [*range(len(calls))]
    return calls


values = st.recursive(
    st.none() | st.integers() | st.text(alphabet='{}[]"\\<>a世', max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(
    texts=st.sampled_from([HERMES, WRITTEN]),
    calls=st.lists(
        st.tuples(st.sampled_from(["find", "a-b.c"]), st.dictionaries(st.text(max_size=3), values)),
        min_size=1,
        max_size=3,
    ),
    data=st.data(),
)
def test_the_same_is_read_from_any_pieces(texts, calls, data):
    written = [(name, json.dumps(value, ensure_ascii=False)) for name, value in calls]
    body = texts.between.join(f"{name}{texts.middle}{value}" for name, value in written)
    whole = f"{texts.opening}{body}{texts.closing}"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)))))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(texts, pieces) == written


def test_a_call_that_breaks_off_is_none():
    reader = CallReader(WRITTEN)
    list(reader.push('{"name": "find", "arguments": {"a"'))
    with pytest.raises(ConstraintFailed, match="breaks off"):
        reader.finish()


CALLS = (ToolCall("find", '{"what": "tea"}'), ToolCall("find", '{"what": ["milk", 2]}'))
TALK = (
    Message("system", "Be brief."),
    Message("user", "Find tea and {name}."),
    Message("assistant", "", calls=CALLS),
    Message("tool", "in {name}", call=0),
    Message("tool", "gone", call=1),
    Message("assistant", "Tea is there."),
    Message("user", "And?"),
)
RETURNED = 'find(what=tea) returned: in {name}\n\nfind(what=["milk", 2]) returned: gone'


def test_a_chat_without_calls_has_what_they_returned():
    assert in_words(TALK) == (
        TALK[0],
        Message("user", f"Find tea and {{name}}.\n\n{RETURNED}"),
        *TALK[5:],
    )
    said = (Message("assistant", "Well.", calls=CALLS), Message("tool", "gone", call=1))
    assert in_words(said) == (
        Message("assistant", "Well."),
        Message("user", 'find(what=["milk", 2]) returned: gone'),
    )
    assert in_words(TALK[:2]) == TALK[:2]


def test_a_chat_with_tools_in_words():
    system, first, called, returned, *rest = with_tools_in_words(TALK, TOOLS)
    assert system.content.startswith("Be brief.\n\nYou can call these functions:\n- find(): Finds.")
    assert (first, *rest) == (TALK[1], *TALK[5:])
    assert (called.role, called.calls) == ("assistant", ())
    assert read(WRITTEN, [called.content]) == [(call.name, call.arguments) for call in CALLS]
    assert returned == Message("user", RETURNED)
    (told, _) = with_tools_in_words(TALK[1:2], TOOLS)
    assert told.content.startswith("You can call")


def test_a_first_call_must_be_of_a_tool():
    with pytest.raises(InputError, match="no tool 'go'"):
        CallGrammar(TOOLS, WRITTEN_FORM, first="go")


def test_arguments_cannot_be_copied_from_an_input():
    span = {"type": "object", "properties": {"a": {"type": "string", "x-verbatim": True}}}
    tools = tools_of([{"name": "f", "parameters": span}])
    with pytest.raises(InputError, match="a chat has none"):
        _ = CallGrammar(tools, WRITTEN_FORM).constraint
