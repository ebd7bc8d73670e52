"""The check of commit messages finds what it is there to find."""

from __future__ import annotations

from commit_history import NAMES, TYPES_FILE, file_names, known_types, report, right_types

from vedette.git.repository import Commit

DIFF = "--- a/src/cart.py\n+++ b/src/cart.py\n@@ -1 +1 @@\n-open('a.cfg')\n+open('b.cfg')\n"


def test_a_file_name_that_the_diff_does_not_have_is_found():
    assert file_names("Read b.cfg in cart.py and src/cart.py", DIFF) == []
    assert file_names("Read c.cfg in mail.py, e.g. now, v1.2", DIFF + "+++ b/x.cfg\n") == [
        "c.cfg",
        "mail.py",
    ]


def test_types_are_those_of_the_header_or_of_a_person():
    known = known_types(TYPES_FILE)
    assert len(known) > 40
    assert {name for names in known.values() for name in names} <= set(NAMES)
    assert right_types(Commit("", "fix(x): y", ""), known) == ["fix"]
    assert right_types(Commit("", "Tidy the tests of defects", ""), known) == ["test"]
    assert right_types(Commit("", "other", ""), known) == []


def test_the_report_counts_what_is_broken():
    row = {
        "own_subject": "Tidy the tests of defects",
        "header": "test: x",
        "type": "test",
        "type_by": "files",
        "body": "",
        "changes": [],
        "seconds": 1.0,
        "prompt_tokens": 9,
    }
    rows = [{**row, "fault": None, "invented": []}, {**row, "fault": "x", "invented": ["a.py"]}]
    lines = report(rows, known_types(TYPES_FILE)).splitlines()
    found = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[1].strip() for line in lines}
    assert found["valid headers"] == "1"
    assert found["messages with an invented file name"] == "1"
    assert found["type as a person gave it"] == "2 of 2"
