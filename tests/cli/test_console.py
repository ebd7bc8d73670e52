"""What verbs print: tables in a pipe, JSON, notes."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from vedette.cli.console import complain, is_terminal, note, print_json, print_table, stderr


def test_a_piped_table_is_aligned_plain_text(capsys):
    print_table(["name", "bytes"], [["a[b]", 5], ["长名字", 12345]], right={"bytes"})
    assert capsys.readouterr().out == "name    bytes\na[b]        5\n长名字  12345\n"


def test_a_piped_table_is_never_cut(capsys):
    print_table(["name"], [["x" * 500]], title="Wide")
    assert capsys.readouterr().out == "Wide\nname\n" + "x" * 500 + "\n"


def test_a_table_on_a_terminal_keeps_brackets_in_values(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    print_table(["name"], [["a[red]b"]])
    assert "a[red]b" in screen.getvalue()


def test_json_is_what_machines_can_read(capsys):
    @dataclass
    class Row:
        path: Path
        text: str

    print_json([Row(Path("/x"), "é")])
    assert json.loads(capsys.readouterr().out) == [{"path": "/x", "text": "é"}]


def test_quiet_silences_notes_but_not_complaints(capsys):
    note("working", quiet=True)
    stderr(quiet=True).print("progress")
    complain("it broke", "mend it")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "vedette: it broke. mend it.\n")


def test_a_closed_or_missing_stream_is_no_terminal():
    closed = io.StringIO()
    closed.close()
    assert not is_terminal(closed)
    assert not is_terminal(None)
    assert is_terminal(Screen())


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return not self.closed
