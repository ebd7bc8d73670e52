"""`vedette bench`: measure vedette against a llama-server on this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from cyclopts import App, Parameter

from vedette.cli.bench_constrained import constrained
from vedette.cli.bench_run import engine_of, stopped_by_sigterm
from vedette.cli.console import note, print_json
from vedette.cli.job import read_text
from vedette.config import Settings, load
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.batch import Source
    from vedette.bench.contest import Plan
    from vedette.bench.report import Report

app = App(name="bench", help="Measure vedette against a llama-server.")
app.command(constrained)

BINDING_ITEMS = 40


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Options of every measurement."""

    model: str | None = None
    "Name, hf:user/repo:QUANT or path of the weights; both sides use this file."
    peer: str | None = None
    "The llama-server; else the one on PATH, or of an installed package that carries one."
    limit: int | None = None
    "Only the first N rows."
    repeat: int = 2
    "Runs of each side, in turns."
    np: str = "1,4,8"
    "Slot counts of the peer; short runs pick the best, and whether flash attention helps it."
    calibration: int = 40
    "Items of a calibration run."
    all_np: bool = False
    "Measure every slot count of --np, with and without flash attention, and pick none."
    width: int | None = None
    "Most sequences in one batch of vedette."
    threads: int | None = None
    "CPU threads, the same for both sides."
    offline: bool | None = None
    "Never use the network."
    json: bool = False
    "One JSON object, for machines."
    quiet: bool = False
    "No progress."

    def plan(self) -> Plan:
        """How often, and at which slot counts."""
        from vedette.bench.contest import Plan

        parts = [part.strip() for part in self.np.split(",")]
        if not all(part.isdecimal() for part in parts):
            raise InputError(f"--np is {self.np!r}; it must be numbers separated by commas")
        return Plan(
            repeat=self.repeat,
            slots=tuple(map(int, parts)),
            calibration_items=self.calibration,
            all_slots=self.all_np,
        )

    def settings(self) -> Settings:
        """The settings that both sides go by."""
        return load(model=self.model, width=self.width, threads=self.threads, offline=self.offline)


@app.command
def batch(
    *,
    data: str,
    schema: str,
    examples: str | None = None,
    expected: str | None = None,
    records: Literal["line", "blank", "regex"] = "line",
    pattern: str | None = None,
    keywords: Literal["ours", "both", "none"] = "ours",
    binding: bool = False,
    binding_items: int | None = None,
    options: BenchOptions | None = None,
) -> int:
    """Extract from the same rows with both, in turns: items/s, validity, accuracy, agreement.

    Parameters
    ----------
    data
        The rows: JSONL, CSV, Parquet or plain text.
    schema
        A file with a JSON Schema.
    examples
        A JSONL file of rows with right answers, shown to both models before the item.
    expected
        A JSONL file of right answers, {"id": ..., "value": {...}}, to measure accuracy.
    records
        What a row of plain text is: a line, a block between blank lines, or --pattern.
    pattern
        With --records regex: a row starts at each line in which this is found.
    keywords
        Who is given what vedette's own schema keywords say: ours, only vedette, as a user of each
        has it; both, the peer too, as enums made for each row; none, neither.
    binding
        Also measure llama-cpp-python's own chat completion, one item at a time.
    binding_items
        On how many of the first items (40).
    """
    from vedette.backends.find_server import find_server
    from vedette.batch import Source
    from vedette.bench.batch import BatchBench
    from vedette.bench.expected import parse_expected
    from vedette.bench.keywords import plain_schema
    from vedette.engine.constraint.json_schema import parse_schema
    from vedette.tasks.examples import extract_examples
    from vedette.tasks.extract import Extract

    options = options or BenchOptions()
    if binding_items is not None and not binding:
        raise InputError("--binding-items is for --binding, which is not given")
    if binding_items is not None and binding_items < 1:
        raise InputError(f"--binding-items is {binding_items}; it must be at least 1")
    source = _checked(Source(paths=(data,), records=records, pattern=pattern, limit=options.limit))
    rows = extract_examples(read_text(examples, "examples"), examples) if examples else ()
    right = parse_expected(read_text(expected, "expected answers"), expected) if expected else {}
    body = parse_schema(read_text(schema, "schema"))
    task = Extract(schema=plain_schema(body) if keywords == "none" else body, examples=rows)
    plan, program = options.plan(), find_server(options.peer)
    bench = BatchBench(
        engine=engine_of(options.settings(), quiet=options.quiet),
        program=program,
        source=source,
        plan=plan,
        task=task,
        expected=right,
        keywords=keywords,
        binding_items=(binding_items or BINDING_ITEMS) if binding else 0,
    )
    with stopped_by_sigterm():
        report = bench.run(partial(note, quiet=options.quiet))
    return _print(report, json=options.json)


@app.command
def classify(
    *,
    data: str,
    labels: str,
    examples: str | None = None,
    label_field: str = "label",
    prior: Literal["stream", "content-free", "none"] = "stream",
    options: BenchOptions | None = None,
) -> int:
    """Label the same rows with both, in turns: vedette scores, the peer writes under a grammar.

    Parameters
    ----------
    data
        Rows with their right label: {"text": ..., "label": ...}.
    labels
        Labels separated by commas, or a file: a label a line (`name` or `name: description`).
    examples
        A JSONL file of rows with right labels, shown to both models before the item.
    label_field
        The column that holds the right label.
    prior
        How the labels that the model prefers whatever it reads are corrected for, as in classify.
    """
    from vedette.backends.find_server import find_server
    from vedette.batch import Source
    from vedette.bench.classify import ClassifyBench
    from vedette.tasks.classify import Classify
    from vedette.tasks.examples import label_examples
    from vedette.tasks.labels import read_labels

    options = options or BenchOptions()
    source = _checked(Source(paths=(data,), columns=(label_field,), limit=options.limit))
    rows = label_examples(read_text(examples, "examples"), examples) if examples else ()
    task = Classify(labels=read_labels(labels), examples=rows, prior=prior)
    plan, program = options.plan(), find_server(options.peer)
    bench = ClassifyBench(
        engine=engine_of(options.settings(), quiet=options.quiet),
        program=program,
        source=source,
        plan=plan,
        task=task,
        label_field=label_field,
    )
    with stopped_by_sigterm():
        report = bench.run(partial(note, quiet=options.quiet))
    return _print(report, json=options.json)


def _checked(source: Source) -> Source:
    """The source, after what can be known before a model is loaded."""
    if "-" in source.paths:
        raise InputError("a measurement cannot read stdin", hint="name a file")
    source.check()
    return source


def _print(report: Report, *, json: bool) -> int:
    if json:
        print_json(report)
        return 0
    from vedette.cli.bench_tables import print_report

    print_report(report)
    sys.stdout.flush()
    return 0
