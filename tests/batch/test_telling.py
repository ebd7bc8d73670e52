"""What people are told: progress lines, the bar, the summary."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from vedette.batch import NoProgress, Snapshot, Summary, progress_on
from vedette.batch.progress import BarProgress, PlainProgress, duration
from vedette.types import Usage


def snapshot(**changes) -> Snapshot:
    values = {"done": 1234, "total": 5000, "errors": 0, "items_per_s": 7.9, "eta_s": 477.0}
    return Snapshot(**{**values, **changes})


@pytest.mark.parametrize(
    ("now", "line"),
    [
        (snapshot(), "1,234 of 5,000 rows, 7.9/s, 7 min 57 s left"),
        (snapshot(total=None, eta_s=None, errors=1), "1,234 rows, 1 error, 7.9/s"),
        (snapshot(errors=20), "1,234 of 5,000 rows, 20 errors, 7.9/s, 7 min 57 s left"),
    ],
)
def test_a_progress_line_says_rows_errors_pace_and_time_left(now, line):
    assert str(now) == line


def test_plain_progress_prints_now_and_then_and_the_end_once():
    stream = io.StringIO()
    rare = PlainProgress(stream, every_s=3600)
    for done in range(5):
        rare.update(snapshot(done=done, total=4, eta_s=None))
    assert stream.getvalue() == ""
    rare.close()
    assert stream.getvalue() == "4 of 4 rows, 7.9/s\n"
    often = PlainProgress(stream, every_s=0)
    often.update(snapshot())
    often.close()
    assert stream.getvalue().count("\n") == 2


def test_a_terminal_gets_a_bar_a_pipe_gets_lines_and_quiet_gets_nothing():
    stream = io.StringIO()
    assert isinstance(progress_on(stream), PlainProgress)
    assert isinstance(progress_on(stream, quiet=True), NoProgress)
    stream.isatty = lambda: True
    bar = progress_on(stream)
    bar.close()
    assert isinstance(bar, BarProgress)


def test_the_bar_shows_the_numbers():
    stream = io.StringIO()
    bar = BarProgress(Console(file=stream, force_terminal=True, width=120))
    bar.update(snapshot(errors=2))
    bar.close()
    assert "1234/5000" in stream.getvalue()
    assert "2 errors" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (7500, "2 h 5 min")],
)
def test_durations_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_the_summary_tells_rows_pace_tokens_and_what_was_saved():
    usage = Usage(prompt_tokens=5000, cached_tokens=4000, forced_tokens=30, sampled_tokens=70)
    text = Summary(
        items=10, ok=9, errors=1, asked=8, duplicates=2, usage=usage, wall_s=2.0,
        out="o", journal="o.journal", notes=("a note",),
    ).as_text()  # fmt: skip
    assert text == (
        "10 rows done\n"
        "  rows: 10 (9 valid, 1 errors)\n"
        "  pace: 4.0 items/s, 2 s in all\n"
        "  tokens in: 5,000, 4,000 of them shared\n"
        "  tokens out: 100, 30 of them forced\n"
        "  identical rows: 2\n"
        "a note\n"
        "1 row has no answer, the error is on its line; --retry-failed asks again"
    )


@pytest.mark.parametrize(
    ("summary", "code", "words"),
    [
        (Summary(items=3, ok=3, asked=3), 0, "3 rows done"),
        (Summary(items=3, ok=2, errors=1, asked=3), 1, "3 rows done"),
        (Summary(items=3, ok=3, from_journal=3), 0, "nothing to do: all 3 rows"),
        (
            Summary(items=3, total=9, interrupted=True, journal="j"),
            130,
            "interrupted: 3 of 9 rows are written; run the same command again to go on",
        ),
        (Summary(items=3, interrupted=True), 130, "without a journal the next run starts over"),
    ],
)
def test_headline_and_exit_code_fit_the_end(summary, code, words):
    assert summary.exit_code == code
    assert words in summary.headline


def test_the_summary_is_json_and_a_table():
    summary = Summary(items=3, ok=3, asked=3, wall_s=1.5, schema_tokens=40)
    assert ("tokens of the schema in each prompt", "40") in summary.facts()
    assert summary.as_dict()["schema_tokens"] == 40
    assert json.loads(json.dumps(summary.as_dict()))["items_per_s"] == 2.0
    assert summary.as_table().row_count == len(summary.facts())
