"""Diffs are read file by file and hunk by hunk, whatever wrote them."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import InputError
from vedette.tasks.commit.diff import parse_diff

MODIFIED = """\
diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@ def f():
 one
-two
+2
+--- not a header
 three
"""


def only(text):
    (file,) = parse_diff(text)
    return file


def test_a_changed_file_has_its_hunk_its_section_and_its_counts():
    file = only(MODIFIED)
    assert (file.path, file.status, file.added, file.removed) == ("src/a.py", "modified", 2, 1)
    assert file.hunks[0].section == "def f():"
    assert file.hunks[0].lines == (" one", "-two", "+2", "+--- not a header", " three")


def test_lines_that_look_like_headers_are_content_while_the_hunk_lasts():
    text = (
        "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new comment\n keep\n"
        "--- a/y.sql\n+++ b/y.sql\n@@ -1 +1 @@\n-a\n+b\n"
    )
    first, second = parse_diff(text)
    assert first.hunks[0].lines == ("--- old comment", "+++ new comment", " keep")
    assert second.path == "y.sql"


@pytest.mark.parametrize(
    ("header", "path", "status", "old"),
    [
        ("new file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n.py", "n.py", "added", None),
        ("deleted file mode 100644\n--- a/n.py\n+++ /dev/null", "n.py", "deleted", None),
        (
            "similarity index 90%\nrename from old name.py\nrename to n.py\n"
            "--- a/old name.py\n+++ b/n.py",
            "n.py",
            "renamed",
            "old name.py",
        ),
        ("copy from m.py\ncopy to n.py\n--- a/m.py\n+++ b/n.py", "n.py", "copied", "m.py"),
    ],
)
def test_what_became_of_a_file_is_told(header, path, status, old):
    file = only(f"diff --git a/x b/n.py\n{header}\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.path, file.status, file.old_path, file.changed) == (path, status, old, 2)


@pytest.mark.parametrize(
    ("text", "path", "status"),
    [
        (
            "diff --git a/a b.txt b/a b.txt\nold mode 100644\nnew mode 100755\n",
            "a b.txt",
            "modified",
        ),
        (
            "diff --git a/e.txt b/e.txt\nnew file mode 100644\nindex 0000000..e69de29\n",
            "e.txt",
            "added",
        ),
        (
            "diff --git a/o.py b/n.py\nsimilarity index 100%\nrename from o.py\nrename to n.py\n",
            "n.py",
            "renamed",
        ),
        (
            'diff --git "a/\\345\\256\\242 \\"x\\".txt" "b/\\345\\256\\242 \\"x\\".txt"\n'
            "old mode 100644\nnew mode 100755\n",
            '客 "x".txt',
            "modified",
        ),
        ("diff --git x.py x.py\nold mode 100644\nnew mode 100755\n", "x.py", "modified"),
    ],
)
def test_files_without_hunks_have_their_names(text, path, status):
    file = only(text)
    assert (file.path, file.status, file.hunks) == (path, status, ())


def test_binary_files_and_submodules_are_known_as_such():
    binary, patch, module = parse_diff(
        "diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ\n"
        "diff --git a/b.bin b/b.bin\nnew file mode 100644\nGIT binary patch\nliteral 3\n"
        "zcmV+abc\n\nliteral 0\nHcmV?d00001\n\n"
        "diff --git a/lib b/lib\nindex 1111..2222 160000\n--- a/lib\n+++ b/lib\n"
        "@@ -1 +1 @@\n-Subproject commit 1111\n+Subproject commit 2222\n"
    )
    assert (binary.is_binary, patch.is_binary, patch.status) == (True, True, "added")
    assert (module.is_submodule, module.path, module.is_binary) == (True, "lib", False)


def test_plain_diffs_mails_and_windows_line_ends_are_read():
    plain = only(
        "--- old/a.c\t2026-01-01 10:00\n+++ new/a.c\t2026-01-02 10:00\n@@ -1 +1 @@\n-a\n+b"
    )
    assert plain.path == "new/a.c"
    mail = only(
        f"From: Ann\nSubject: [PATCH] x\n\nWords.\n---\n a | 2 +-\n\n{MODIFIED}-- \n2.39.5\n"
    )
    assert (mail.path, mail.added) == ("src/a.py", 2)
    assert only(MODIFIED.replace("\n", "\r\n")) == only(MODIFIED)


def test_no_newline_marks_and_context_lines_stripped_of_their_space_are_no_change():
    file = only("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n\n-a\n\\ No newline at end of file\n+b\n x\n")
    assert file.hunks[0].lines == (" ", "-a", "+b", " x")


def test_a_combined_diff_counts_what_either_side_lacks():
    file = only(
        "diff --cc m.py\nindex 1,2..3\n--- a/m.py\n+++ b/m.py\n"
        "@@@ -1,2 -1,2 +1,3 @@@ def f\n  same\n- ours\n -theirs\n++both\n +one\n"
    )
    assert file.hunks[0].lines == (" same", "-ours", "-theirs", "+both", "+one")


@pytest.mark.parametrize("text", ["", "hello\nworld", "@@ -1 +1 @@\n-a\n+b\n", "--- a\nno\n"])
def test_a_text_that_is_no_diff_is_refused(text):
    with pytest.raises(InputError, match="is no diff"):
        parse_diff(text)


@pytest.mark.parametrize("end", ["", "\n@@ -9 +9 @@\n-a\n+b\n", "\ndiff --git a/z b/z\n"])
def test_a_hunk_that_is_not_whole_is_refused_with_its_place(end):
    text = MODIFIED.replace("@@ -1,3 +1,4 @@", "@@ -1,9 +1,9 @@").rstrip("\n") + end
    with pytest.raises(InputError, match="the hunk at line 5 of the diff is not whole"):
        parse_diff(text)


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8))


@given(before=LINES, after=LINES)
def test_what_difflib_writes_is_read_as_it_was_written(before, after):
    diff = list(difflib.unified_diff(before, after, "a/f.txt", "b/f.txt", lineterm=""))
    if not diff:
        return
    file = only("\n".join(diff))
    body = [line for line in diff[2:] if not line.startswith("@@ ")]
    assert [line for hunk in file.hunks for line in hunk.lines] == body
