"""The lexer reads words as a shell does, and knows where they stand."""

from __future__ import annotations

import shlex

from hypothesis import example, given
from hypothesis import strategies as st

from vedette.spec.lint.lexer import simple_commands
from vedette.spec.lint.words import Edit, Span, apply_edits

VALUES = st.lists(st.text("ab -'\"\\$#;&|()中\t", max_size=8), min_size=1, max_size=6)


def words_of(text: str) -> list[str]:
    commands = simple_commands(text, Span(0, len(text)))
    return [word.value for command in commands for word in command.words]


@given(VALUES)
def test_quoted_words_are_read_as_the_shell_reads_them(values):
    assert words_of(shlex.join(values)) == values


@given(VALUES)
def test_words_stand_where_they_say_and_can_be_taken_out_one_by_one(values):
    text = "first " + shlex.join(values)
    (command,) = simple_commands(text, Span(0, len(text)))
    for index, word in enumerate(command.words[1:], 1):
        left = apply_edits(text, [Edit(word.removal, "")])
        rest = [each.value for each in command.words]
        assert words_of(left) == rest[:index] + rest[index + 1 :]


@given(st.text("ab'\"\\$`(){}#=;\n<> ", max_size=30))
@example('"\\')
def test_no_text_is_too_strange(text):
    commands = simple_commands(text, Span(0, len(text)))
    spans = [word.span for command in commands for word in command.words]
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
