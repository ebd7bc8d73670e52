"""The journal: nothing lost by a cut, nothing trusted that is damaged."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.batch.journal import Journal, differences
from vedette.batch.results import job_hash, row_key
from vedette.errors import FileError, JournalMismatch, VedetteError
from vedette.types import Item

JOB = {"task": {"name": "shout", "prompt": "p"}, "backend": {"model": "m", "sha256": "00"}}


@pytest.fixture(scope="module", autouse=True)
def no_fsync():
    """What is held here does not depend on it, and a busy disk would make it slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield


keys = st.binary(min_size=16, max_size=16)
bodies = st.one_of(
    st.integers(0, 99).map(lambda n: b'{"ok":true,"value":%d}' % n),
    st.integers(0, 9).map(lambda n: b'{"ok":false,"error":{"code":"%d"}}' % n),
)
entries = st.lists(st.tuples(keys, bodies), max_size=6)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "out.jsonl.journal")


def written(path: str, pairs) -> bytes:
    with Journal.open(path, JOB, fresh=True) as journal:
        for key, body in pairs:
            journal.start(key)
            journal.add(key, body)
    with open(path, "rb") as file:
        return file.read()


def contents(path: str, pairs) -> dict[bytes, bytes]:
    with Journal.open(path, JOB) as journal:
        found = {key: journal.get(key) for key, _ in pairs if key in journal}
        assert len(found) == len(journal)
        return found


@given(entries)
def test_what_was_added_is_there_after_reopening_the_last_of_a_key_wins(tmp_path_factory, pairs):
    path = str(tmp_path_factory.getbasetemp() / "roundtrip.journal")
    written(path, pairs)
    assert contents(path, pairs) == dict(pairs)


@settings(deadline=None, max_examples=5)
@given(st.lists(st.tuples(keys, bodies), max_size=3))
def test_cut_at_any_byte_it_holds_exactly_the_whole_lines_and_can_be_continued(
    tmp_path_factory, pairs
):
    path = str(tmp_path_factory.getbasetemp() / "cut.journal")
    data = written(path, pairs)
    header_end = data.index(b"\n") + 1
    for cut in range(len(data) + 1):
        with open(path, "wb") as file:
            file.write(data[:cut])
        whole = data[:cut].count(b"\n")
        expected = dict(pairs[: max(0, whole - 1) // 2])
        with Journal.open(path, JOB) as journal:
            assert len(journal) == len(expected)
            assert all(journal.get(key) == body for key, body in expected.items())
            assert journal.torn_bytes == cut - (data[:cut].rfind(b"\n") + 1)
            for key, body in pairs[len(expected) :]:
                journal.add(key, body)
        assert contents(path, pairs) == dict(pairs), f"cut at {cut} (header ends at {header_end})"


@settings(deadline=None, max_examples=60)
@given(entries.filter(bool), st.data())
def test_a_changed_byte_is_an_error_or_harmless_never_a_wrong_result(tmp_path_factory, pairs, data):
    path = str(tmp_path_factory.getbasetemp() / "flip.journal")
    good = bytearray(written(path, pairs))
    header = good.index(b"\n")
    at = data.draw(st.integers(header, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    with open(path, "wb") as file:
        file.write(good)
    try:
        found = contents(path, pairs)
    except VedetteError:
        return
    # Only a last line that lost its newline may be missing; what is there is as it was written.
    assert all((key, body) in pairs for key, body in found.items())
    assert len(set(dict(pairs)) - set(found)) <= 1


def test_a_damaged_line_in_the_middle_is_named(path):
    data = written(path, [(b"a" * 16, b'{"ok":true,"value":1}'), (b"b" * 16, b'{"ok":true}')])
    with open(path, "wb") as file:
        file.write(data.replace(b'"value":1', b'"value":2'))
    with pytest.raises(FileError, match="damaged at line 3") as caught:
        Journal.open(path, JOB)
    assert not isinstance(caught.value, JournalMismatch)


def test_another_jobs_journal_is_refused_with_what_differs_and_left_alone(path):
    before = written(path, [(b"a" * 16, b'{"ok":true}')])
    other = {"task": {"name": "shout", "prompt": "q" * 200}, "backend": {"model": "n", "t": 1}}
    with pytest.raises(JournalMismatch) as caught:
        Journal.open(path, other)
    message = caught.value.message
    assert 'backend.model was "m" and is "n"' in message
    assert "backend.sha256 is gone" in message
    assert "task.prompt differs" in message
    assert "--fresh" in caught.value.hint
    assert "--out" in caught.value.hint
    with open(path, "rb") as file:
        assert file.read() == before


def test_fresh_forgets_another_job(path):
    written(path, [(b"a" * 16, b'{"ok":true}')])
    with Journal.open(path, {"task": "other"}, fresh=True) as journal:
        assert len(journal) == 0


def test_a_file_that_is_no_journal_is_refused_and_left_alone(path):
    with open(path, "w") as file:
        file.write("my diary, without a newline")
    for fresh in (False, True):
        with pytest.raises(FileError, match="is not a journal"):
            Journal.open(path, JOB, fresh=fresh)
    with open(path) as file:
        assert file.read() == "my diary, without a newline"


def test_a_second_opener_is_refused_while_the_first_is_at_work(path):
    with Journal.open(path, JOB), pytest.raises(FileError, match="in use by another run"):
        Journal.open(path, JOB)
    Journal.open(path, JOB).close()


def test_unfinished_starts_and_old_results_are_known_after_reopening(path):
    done, begun = b"d" * 16, b"b" * 16
    with Journal.open(path, JOB) as journal:
        journal.start(done)
        journal.add(done, b'{"ok":true}')
        journal.start(begun)
        assert not journal.is_old(done)
    with Journal.open(path, JOB) as journal:
        assert journal.is_old(done)
        assert not journal.is_old(begun)
        assert journal.was_started(begun)
        assert not journal.was_started(done)


def test_forgotten_errors_are_asked_again_and_answers_are_not(path):
    answered, failed = b"a" * 16, b"f" * 16
    written(path, [(answered, b'{"ok":false,"error":{}}'), (failed, b'{"ok":false,"error":{}}')])
    with Journal.open(path, JOB) as journal:
        journal.add(answered, b'{"ok":true}')
    with Journal.open(path, JOB) as journal:
        assert journal.forget_errors() == 1
        assert answered in journal
        assert failed not in journal


def test_a_temporary_journal_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Journal.temporary(JOB) as journal:
        journal.add(b"a" * 16, b'{"ok":true}')
        assert journal.get(b"a" * 16) == b'{"ok":true}'
        assert os.listdir(tmp_path) == []


def test_a_journal_that_cannot_be_created_is_a_file_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot create the folder"):
        Journal.open(str(tmp_path / "file" / "out.journal"), JOB)
    with pytest.raises(FileError, match="cannot write"):
        Journal.open(str(tmp_path), JOB)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(), st.integers(0, 3))
def test_row_keys_depend_on_text_columns_and_job_and_on_nothing_else(text, number, other):
    job = job_hash(JOB)
    number = number % 2**60
    key = row_key(job, Item(id="1", text=text, columns={"a": number, "b": other}))
    assert key == row_key(job, Item(id="2", text=text, columns={"b": other, "a": number}))
    assert key != row_key(job, Item(id="1", text=text + "x", columns={"a": number, "b": other}))
    assert key != row_key(job, Item(id="1", text=text, columns={"a": number + 1, "b": other}))
    assert key != row_key(job_hash({}), Item(id="1", text=text, columns={"a": number, "b": other}))


def test_the_job_hash_does_not_depend_on_the_order_of_keys():
    assert job_hash({"a": 1, "b": 2}) == job_hash({"b": 2, "a": 1}) != job_hash({"a": 1, "b": 3})


def test_differences_name_what_is_new_gone_or_changed():
    old = {"a": None, "b": {"c": 1, "d": [1]}, "same": 1}
    assert differences(old, {"b": {"c": 2, "d": [2]}, "e": None, "same": 1}) == [
        "a is gone",
        "b.c was 1 and is 2",
        "b.d differs",
        "e is new",
    ]
