"""What a pull says: plain lines in a pipe, sizes that people can read."""

from __future__ import annotations

import io

import pytest
from weights_fakes import Recorder

from vedette.models.progress import Lines, Meter
from vedette.models.units import human_bytes, human_count


def test_lines_come_once_for_each_tenth_however_the_bytes_come():
    out = io.StringIO()
    lines = Lines(out)
    lines.start(1000, "tiny")
    for _ in range(1000):
        lines.advance(1)
    lines.finish()
    said = out.getvalue().splitlines()
    assert len(said) == 10
    assert said[0] == "tiny: 10% (100 B of 1.00 kB)"
    assert said[-1].startswith("tiny: 100%")


def test_a_meter_counts_each_byte_once_and_never_goes_back():
    heard = Recorder()
    meter = Meter(heard, label="x", total_bytes=100, start_bytes=10)
    for position in (10, 60, 30, 60, 100):
        meter.at(position)
    meter.finish()
    assert (heard.done_bytes, heard.total_bytes, heard.n_finished) == (100, 100, 1)


def test_a_transfer_that_never_began_shows_no_progress():
    heard = Recorder()
    Meter(heard, label="x", total_bytes=100, start_bytes=10).finish()
    assert (heard.notes, heard.total_bytes, heard.n_finished) == ([], 0, 0)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (98_362_432, "98.4 MB"),
     (491_400_064, "491 MB"), (999_600_000, "1.00 GB"), (1_117_320_768, "1.12 GB")],
)  # fmt: skip
def test_sizes_have_three_digits(n_bytes: int, text: str):
    assert human_bytes(n_bytes) == text


def test_counts_have_three_digits():
    assert [human_count(n) for n in (12, 1234, 134_515_008)] == ["12", "1.23k", "135M"]
