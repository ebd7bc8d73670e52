"""The demo's log, its schema and its right answers fit together."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest

from vedette.engine.constraint.grounded import ground

EXAMPLES = Path(__file__).parents[2] / "examples"

# What a line of each format looks like, and how many there are at least.
FORMATS = {
    "logfmt": (r"(ts=|time=\")2026-11-28T\S+ level=\w+ ", 35),
    "json": (r"\{.*\}$", 40),
    "logback": (r"2026-11-28 [\d:,]+ +(TRACE|DEBUG|INFO|WARN|ERROR) +\[\S+\] \[.+?\] \S+ - ", 35),
    "python logging": (r"2026-11-28 [\d:,]+ - \S+ - [A-Z]+ - ", 12),
    "syslog": (r"Nov 28 [\d:]+ \S+ [\w-]+(\[\d+\])?: ", 25),
    "nginx error log": (r"2026/11/28 [\d:]+ \[\w+\] \d+#\d+: ", 3),
    "access log": (r"[\d.]+ - - \[28/Nov/2026:", 4),
    "klog": (r"[IWE]1128 [\d:.]+ +\d+ \w+\.go:\d+\] ", 2),
    "postgres": (r"2026-11-28 [\d:.]+ UTC \[\d+\] [A-Z]+:  ", 4),
    "redis": (r"redis +\| \d+:[MSC] 28 Nov 2026 ", 3),
    "compose prefix": (r"[\w-]+ +\| ", 25),
    "monolog": (r"\[2026-11-28T[\d:.+]+\] \w+\.[A-Z]+: ", 5),
    "ruby logger": (r"[DIWEF], \[2026-11-28T\S+ #\d+\] +[A-Z]+ -- ", 5),
    "java stack frame": (r"\t(at |\.\.\. \d+ common frames)", 8),
    "python traceback": (r"Traceback \(most recent call last\):$", 2),
    "empty": (r"$", 5),
}

# The level words that the log uses, each with the one answer it may have.
LEVEL_WORDS = {
    "DEBUG": ("trace", "debug"),
    "INFO": ("info", "information", "notice", "log"),
    "WARN": ("warn", "warning"),
    "ERROR": ("error", "err", "severe"),
    "FATAL": ("fatal", "crit", "critical", "panic"),
}
KLOG_LETTER = re.compile(r"(?:^|: )([IWE])1128 ")
KLOG_LEVELS = {"I": "INFO", "W": "WARN", "E": "ERROR"}
STATED_LEVEL = re.compile(
    r"^(?:ts|time)=\S+ level=(\w+)"
    r"|^\{.*?\"(?:level|lvl|severity|@l)\": ?\"(\w+)\""
    r"|^2026-11-28 [\d:,]+ +([A-Z]+) +\["
    r"|^2026-11-28 [\d:,]+ - \S+ - ([A-Z]+) - "
    r"|^Nov 28 [\d:]+ \S+ [\w-]+(?:\[\d+\])?: (?:time=\S+ level=(\w+)|\[([a-z]+)\]|([A-Z]+): )"
    r"|^2026/11/28 [\d:]+ \[(\w+)\]"
    r"|UTC \[\d+\] ([A-Z]+):  "
    r"|^[\w-]+ +\| (?:\[[\d\-T :,]+(?:: |\]\[)([A-Z]+)|2026-11-28 \S+ \[(\w+)\] |([A-Z]+) +\S)"
    r"|^\[[\dT:.+-]+\] \w+\.([A-Z]+): "
    r"|^\[[\dTZ:.-]+\]? ([A-Z]+) "
    r"|^[DIWEF], \[[^\]]+\] +([A-Z]+) -- "
    r"|^2026-11-28T[\d:.]+Z\t([A-Z]+)\t"
    r"|^2026-11-28T[\d:+]+ \[([A-Z]+)\] "
    r"|^([A-Z]+): "
)


def read_lines() -> list[str]:
    text = (EXAMPLES / "app.log").read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def read_rows(name: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (EXAMPLES / name).read_bytes().splitlines()]


LINES = read_lines()
ROWS = read_rows("app.expected.jsonl")
SCHEMA = orjson.loads((EXAMPLES / "event.schema.json").read_bytes())
VALUES = [row["value"] for row in ROWS]


def stated_level(line: str) -> str | None:
    """The level that the line's format states, found without looking at the answers."""
    if letter := KLOG_LETTER.search(line):
        return KLOG_LEVELS[letter[1]]
    found = STATED_LEVEL.search(line)
    if found is None:
        return None
    word = next(group for group in found.groups() if group).lower()
    return next((level for level, words in LEVEL_WORDS.items() if word in words), None)


def test_every_line_has_its_answer_in_order():
    assert [row["id"] for row in ROWS] == [str(n) for n in range(1, len(LINES) + 1)]
    assert 280 <= len(LINES) <= 330
    assert all(row.keys() == {"id", "value"} for row in ROWS)


def test_schema_is_draft_2020_12_bounded_and_closed():
    jsonschema_rs.Draft202012Validator(SCHEMA)
    assert SCHEMA["required"] == ["level", "service", "message"] == list(SCHEMA["properties"])
    assert SCHEMA["additionalProperties"] is False
    assert SCHEMA["properties"]["message"]["x-verbatim"] is True
    assert isinstance(SCHEMA["properties"]["service"]["x-one-of-input"], str)
    assert set(SCHEMA["properties"]["level"]["x-evidence"]) == set(LEVEL_WORDS)
    assert all("enum" in v or "maxLength" in v for v in SCHEMA["properties"].values())


@pytest.mark.parametrize("name", ["app.expected.jsonl", "event.examples.jsonl"])
def test_answers_are_valid_against_the_schema(name):
    validator = jsonschema_rs.validator_for(SCHEMA)
    faults = [
        (row, e.message) for row in read_rows(name) for e in validator.iter_errors(row["value"])
    ]
    assert faults == []


def test_service_and_message_stand_in_their_line_as_written():
    for number, (line, value) in enumerate(zip(LINES, VALUES, strict=True), 1):
        for field in ("service", "message"):
            span = value[field]
            assert span is None or (span and span in line), f"line {number}: {field} {span!r}"


def test_level_is_the_one_that_the_format_states():
    wrong = [
        (number, line[:80], value["level"])
        for number, (line, value) in enumerate(zip(LINES, VALUES, strict=True), 1)
        if stated_level(line) != value["level"]
    ]
    assert wrong == []


def test_only_empty_lines_are_answered_with_nothing():
    nothing = {"level": None, "service": None, "message": None}
    assert [value == nothing for value in VALUES] == [line == "" for line in LINES]
    assert all(line == "" or line.strip() for line in LINES)


def test_stack_traces_state_neither_level_nor_service():
    frames = [
        value
        for line, value in zip(LINES, VALUES, strict=True)
        if re.match(r"\s+\S|Traceback|Caused by: |[\w.]+(Exception|Error|Detected): ", line)
    ]
    assert len(frames) / len(LINES) == pytest.approx(0.08, abs=0.02)
    assert all(value["level"] is None and value["service"] is None for value in frames)


def test_one_line_of_twenty_kilobytes_says_who_and_how_bad_at_its_start():
    (number,) = [n for n, line in enumerate(LINES) if len(line.encode()) > 2_000]
    line = LINES[number]
    assert 20_000 <= len(line.encode()) <= 21_000
    assert VALUES[number]["level"] == "ERROR"
    assert line.index(VALUES[number]["service"]) < 100
    assert orjson.loads(line)["msg"] == VALUES[number]["message"]


@pytest.mark.parametrize("name", FORMATS)
def test_format_is_present(name):
    pattern, at_least = FORMATS[name]
    assert sum(re.match(pattern, line) is not None for line in LINES) >= at_least


def test_log_is_varied():
    levels = Counter(value["level"] for value in VALUES)
    assert levels.keys() == {"DEBUG", "INFO", "WARN", "ERROR", "FATAL", None}
    assert min(levels.values()) >= 10
    assert len({re.sub(r"\w*\d\w*", "#", value["message"] or "") for value in VALUES}) >= 200
    assert len({value["service"] for value in VALUES}) >= 40
    chinese = [line for line in LINES if re.search(r"[一-鿿]", line) and len(line) < 2_000]
    assert len(chinese) / len(LINES) == pytest.approx(0.05, abs=0.02)


def test_few_shot_rows_share_no_line_and_no_service_with_the_log():
    rows = read_rows("event.examples.jsonl")
    assert 6 <= len(rows) <= 8
    assert not {row["text"] for row in rows} & set(LINES)
    named = {row["value"]["service"] for row in rows} - {None}
    assert not named & {value["service"] for value in VALUES}
    for row in rows:
        for field in ("service", "message"):
            assert row["value"][field] is None or row["value"][field] in row["text"]


def test_the_declared_patterns_admit_every_right_answer():
    refused = []
    for line, value in zip(LINES, VALUES, strict=True):
        allowed = ground(SCHEMA, line)["properties"]
        for name in ("level", "service"):
            if value[name] not in allowed[name]["enum"]:
                refused.append((name, value[name], line[:80]))
    assert refused == []
