"""`vedette bench constrained`: the scorecard of constrained output."""

from __future__ import annotations

import sys
from functools import partial
from typing import Literal

from vedette.cli.bench_run import engine_of, stopped_by_sigterm
from vedette.cli.console import note, print_json
from vedette.config import load
from vedette.errors import InputError


def constrained(
    *,
    model: str | None = None,
    peer: str | None = None,
    binding: bool = False,
    schemas: str | None = None,
    draft: Literal["4", "6", "7", "2019-09", "2020-12"] | None = None,
    ignore_formats: bool = False,
    limit: int | None = None,
    prompts: int = 3,
    max_tokens: int = 256,
    threads: int | None = None,
    offline: bool | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Score constrained output: coverage, wrong verdicts, compile and mask times, answers.

    Parameters
    ----------
    model
        Name, hf:user/repo:QUANT or path of the weights; every side uses this file.
    peer
        A llama-server to ask the same, one request at a time; without it there is no peer.
    binding
        Also hold the schemas against the grammars of llama-cpp-python, and ask its own chat
        completion the same.
    schemas
        A folder of .json files laid out as in JSON-Schema-Test-Suite, a group's `prompts` beside
        its `tests`; else the built-in schemas.
    draft
        With --schemas, the draft of JSON Schema of those that name none.
    ignore_formats
        With --schemas, take `format` for a note that asserts nothing.
    limit
        Only the first N schemas.
    prompts
        Prompts of each schema to answer, at most; 0 leaves answers out.
    max_tokens
        Most tokens of an answer, on every side.
    threads
        CPU threads, the same for every side.
    offline
        Never use the network.
    json
        One JSON object, for machines.
    quiet
        No progress.
    """
    from pathlib import Path

    from vedette.backends.find_server import find_server
    from vedette.bench.constrained import ConstrainedBench
    from vedette.bench.constrained_answers import check_validators
    from vedette.bench.constrained_suite import built_in, first, read_folder

    if prompts < 0:
        raise InputError(f"--prompts is {prompts}; it must be at least 0")
    if max_tokens < 1:
        raise InputError(f"--max-tokens is {max_tokens}; it must be at least 1")
    if not schemas and (draft or ignore_formats):
        raise InputError("--draft and --ignore-formats are for --schemas, which is not given")
    if schemas:
        cases = read_folder(Path(schemas).expanduser(), draft=draft, formats=not ignore_formats)
    else:
        cases = built_in()
    cases = first(cases, limit)
    n_prompts = sum(len(case.prompts[:prompts]) for case in cases)
    if peer and not n_prompts:
        raise InputError("there is nothing to ask the peer: no schema has a prompt to answer")
    check_validators(cases)
    program = find_server(peer) if peer else None
    engine = engine_of(load(model=model, threads=threads, offline=offline), quiet=quiet)
    bench = ConstrainedBench(
        model=engine.model,
        options=engine.options,
        suite=schemas or "built-in",
        cases=cases,
        prompts=prompts,
        max_tokens=max_tokens,
        program=program,
        binding=binding,
    )
    with stopped_by_sigterm():
        scorecard = bench.run(partial(note, quiet=quiet))
    if json:
        print_json(scorecard)
        return 0
    from vedette.cli.constrained_table import print_scorecard

    print_scorecard(scorecard)
    sys.stdout.flush()
    return 0
