"""`vedette spec bench`: does guessing ahead pay, measured on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from vedette.cli.bench_run import stopped_by_sigterm
from vedette.cli.console import note, print_json
from vedette.cli.report_output import check_file, write_page
from vedette.config import Settings, load
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.backends.server_process import ServerOptions
    from vedette.spec.bench.prompts import BenchPrompt
    from vedette.spec.bench.side import Side

EXIT_INTERRUPTED = 130
COST_PROMPTS = 3
SERVER_TOKENS = 4096


def bench(
    *,
    policies: str | None = None,
    variant: tuple[str, ...] = (),
    model: str | None = None,
    draft: str | None = None,
    server: str | None = None,
    cost_curve: int | None = None,
    prompts: str | None = None,
    requests: int | None = None,
    max_tokens: int = 128,
    seconds: float | None = None,
    at_once: int | None = None,
    seed: int = 0,
    runs: str | None = None,
    html: str | None = None,
    threads: int | None = None,
    offline: bool | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Compare ways of guessing ahead, in turns, on the same prompts: which is faster, and how sure?

    On the engine of this process (--policies), or on real llama-servers (--variant). The first one
    is the baseline.

    Parameters
    ----------
    policies
        Two or more of off, auto, ngram:N, draft:N, drawn:N, separated by commas (off,auto).
    variant
        A llama-server to be started: NAME, or 'NAME: OPTIONS' with its further options. Give two or
        more; a name such as qwen2.5-coder-0.5b may stand for the path of a draft.
    model
        Name, hf:user/repo:QUANT or path of the weights, the same for all.
    draft
        A smaller model of the same vocabulary that may guess, for --policies and --cost-curve.
    server
        The llama-server; else the one on PATH, or of an installed package that carries one.
    cost_curve
        Instead of a comparison: what a step costs with 1 to N guesses, on a llama-server that can
        make acceptance up.
    prompts
        A JSONL file of your own prompts: {"prompt": ..., "workload": ...}.
    requests
        Only so many prompts of each workload.
    max_tokens
        Most tokens of an answer.
    seconds
        Begin no prompt that would hardly be done within this time.
    at_once
        Most llama-servers that hold the model at a time; they take turns. All of them by default.
    seed
        Decides the order of the requests, and the resamples.
    runs
        Keep each answer's figures in this file, and go on from what it holds.
    html
        A file for a page with the figures and plots.
    threads
        CPU threads.
    offline
        Never use the network.
    json
        One JSON object, for machines.
    quiet
        No progress.
    """
    from vedette.spec.bench.kept import Kept
    from vedette.spec.bench.prompts import bundled_prompts, choose, read_prompts
    from vedette.spec.bench.report import report_of
    from vedette.spec.bench.run import measure

    if max_tokens < 2:
        raise InputError(f"--max-tokens is {max_tokens}; it must be at least 2")
    is_cost = cost_curve is not None
    _refuse("goes with --variant", not variant, at_once=at_once)
    _refuse("goes with --variant or --cost-curve", not (variant or is_cost), server=server)
    _refuse("does not go with --variant", bool(variant), policies=policies, draft=draft)
    _refuse("does not go with --cost-curve", is_cost, policies=policies, variant=variant)
    _refuse("does not go with --cost-curve", is_cost, runs=runs, html=html, seconds=seconds)
    if html is not None:
        check_file(html)
    if seconds is not None and not seconds > 0:
        raise InputError(f"--seconds is {seconds:g}; it must be above 0")
    asked = choose(read_prompts(prompts) if prompts else bundled_prompts(), requests)
    settings = load(model=model, draft=draft, threads=threads, offline=offline)
    say = partial(note, quiet=quiet)
    if cost_curve is not None:
        return _cost_curve(
            settings, server, cost_curve, asked, max_tokens, as_json=json, quiet=quiet
        )
    with stopped_by_sigterm(), ExitStack() as stack:
        listed = tuple((policies or "off,auto").replace(" ", "").split(","))
        side = _open(stack, settings, variant, server, listed, max_tokens, at_once, quiet=quiet)
        kept = Kept(runs, side.identity) if runs else None
        run = measure(side, asked, seconds=seconds, seed=seed, kept=kept, say=say)
        report = report_of(side, run, seed)
    if html is not None:
        from vedette.spec.bench.html import page

        write_page(html, page(report))
    if json:
        print_json(report.as_dict())
    else:
        from vedette.cli.spec_bench_table import print_comparison

        print_comparison(report)
    return EXIT_INTERRUPTED if report.is_interrupted else 0


def _refuse(why: str, is_wrong: bool, **given: object) -> None:
    """Raise `InputError` if an option was given that would have no effect."""
    name = next((name for name, value in given.items() if value not in (None, ())), None)
    if is_wrong and name is not None:
        raise InputError(f"--{name.replace('_', '-')} {why}")


def _open(
    stack: ExitStack,
    settings: Settings,
    variant: tuple[str, ...],
    server: str | None,
    policies: tuple[str, ...],
    max_tokens: int,
    at_once: int | None,
    *,
    quiet: bool,
) -> Side:
    """What is compared; closed with the stack."""
    from vedette.backends.find_server import find_server
    from vedette.backends.local import fetch
    from vedette.models.locate import locate
    from vedette.models.progress import progress_for_stderr
    from vedette.spec.bench.engine_side import EngineSide
    from vedette.spec.bench.server_flags import parse_variants
    from vedette.spec.bench.server_side import ServerSide

    if not variant:
        fetch(settings, progress_for_stderr(quiet=quiet))
        engine = EngineSide(settings, policies, max_tokens)
        stack.callback(engine.close)
        return engine
    variants, program = parse_variants(variant), find_server(server)
    fetch(settings.model_copy(update={"draft": None}), progress_for_stderr(quiet=quiet))
    servers = ServerSide(
        program,
        locate(settings.model).path,
        variants,
        _server_options(settings),
        max_tokens=max_tokens,
        at_once=at_once,
    )
    stack.callback(servers.close)
    return servers


def _server_options(settings: Settings) -> ServerOptions:
    from vedette.backends.server_process import ServerOptions

    return ServerOptions(
        threads=settings.thread_count,
        slot_tokens=settings.context_tokens or SERVER_TOKENS,
        kv_type=settings.kv_type,
    )


def _cost_curve(
    settings: Settings,
    server: str | None,
    most: int,
    prompts: tuple[BenchPrompt, ...],
    max_tokens: int,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    from vedette.backends.find_server import find_server
    from vedette.backends.local import fetch
    from vedette.cli.spec_bench_table import print_costs
    from vedette.models.locate import locate
    from vedette.models.progress import progress_for_stderr
    from vedette.spec.bench.cost_curve import measure_costs

    program = find_server(server)
    fetch(settings, progress_for_stderr(quiet=quiet))
    copies = [prompt for prompt in prompts if prompt.workload == "copy"] or list(prompts)
    with stopped_by_sigterm():
        costs = measure_costs(
            program,
            locate(settings.model).path,
            settings.draft,
            most,
            copies[:COST_PROMPTS],
            _server_options(settings),
            max_tokens=max_tokens,
            say=partial(note, quiet=quiet),
        )
    if as_json:
        print_json(costs.as_dict())
    else:
        print_costs(costs)
    return 0
