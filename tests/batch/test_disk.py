"""A write that the disk refuses half-way leaves whole lines behind, in journal and output."""

from __future__ import annotations

import errno
import os

import pytest

from vedette.batch.journal import Journal
from vedette.batch.outputs import FileOutput
from vedette.errors import DiskFull, FileError


@pytest.fixture
def refuse_after(monkeypatch):
    """Makes the next writes take so many bytes in all and then fail."""
    write = os.write

    def arm(size: int, number: int = errno.ENOSPC) -> None:
        left = [size]

        def limited(fd: int, data: memoryview) -> int:
            if not left[0]:
                raise OSError(number, os.strerror(number))
            done = write(fd, data[: left[0]])
            left[0] -= done
            return done

        monkeypatch.setattr(os, "write", limited)

    return arm


def test_the_output_keeps_whole_lines(tmp_path, refuse_after):
    path = tmp_path / "out.jsonl"
    output = FileOutput(str(path))
    output.put(b"one\n")
    refuse_after(2)
    with pytest.raises(DiskFull, match="no room left"):
        output.put(b"two\n")
    assert path.read_bytes() == b"one\n"
    output.close()


def test_the_journal_keeps_whole_lines(tmp_path, refuse_after):
    path = tmp_path / "out.journal"
    with Journal.open(str(path), {}) as journal:
        journal.add(b"a" * 16, b'{"ok":true}')
        before = path.read_bytes()
        refuse_after(20)
        with pytest.raises(DiskFull):
            journal.add(b"b" * 16, b'{"ok":true}')
        assert path.read_bytes() == before
        assert b"b" * 16 not in journal


def test_short_writes_are_continued(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    path = tmp_path / "out.jsonl"
    output = FileOutput(str(path))
    output.put(b"a long line\n")
    output.close()
    assert path.read_bytes() == b"a long line\n"


def test_another_failure_to_write_is_named_as_such(tmp_path, refuse_after):
    output = FileOutput(str(tmp_path / "out.jsonl"))
    refuse_after(0, errno.EIO)
    with pytest.raises(FileError, match="cannot write") as caught:
        output.put(b"one\n")
    assert not isinstance(caught.value, DiskFull)
    output.close()


def test_a_rewrite_that_finds_no_room_leaves_the_old_file(tmp_path, refuse_after):
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"one\ntwo\nthree\n")
    output = FileOutput(str(path))
    output.put(b"one\n")
    refuse_after(2)
    with pytest.raises(DiskFull):
        output.put(b"2\n")
    output.close()
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert os.listdir(tmp_path) == ["out.jsonl"]
