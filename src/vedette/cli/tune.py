"""`vedette tune`: make a model fast for this machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from vedette.cli.bench_run import stopped_by_sigterm
from vedette.cli.console import note, print_json, print_table
from vedette.cli.report_output import check_file, write_page
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.config import Settings
    from vedette.models.locate import Weights
    from vedette.tune.plan import Plan
    from vedette.tune.report import Report, Tried
    from vedette.tune.speed import Speed

DEFAULT_SECONDS, QUICK_SECONDS, MOST_SECONDS = 120.0, 30.0, 7200.0


def tune(
    model: str | None = None,
    *,
    types: str | None = None,
    max_kl: float | None = None,
    min_agreement: float | None = None,
    margin: float | None = None,
    seconds: float | None = None,
    quick: bool = False,
    fresh: bool = False,
    forget: bool = False,
    html: str | None = None,
    threads: int | None = None,
    offline: bool | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Measure a model on this machine, and keep a copy of its weights that is faster here.

    The copy is used from then on wherever the model is opened in this process, unless --no-tune
    or the setting `tuned` forbids it. It is another model: thresholds are calibrated anew.

    Parameters
    ----------
    model
        Name, hf:user/repo:QUANT or path of the weights; the setting `model` if left out.
    types
        The ways to pack that are tried, separated by commas, such as Q4_0,IQ4_NL+Q8_0.
    max_kl
        Most nats that next tokens may lie apart, on average over a text sample; 0.1 by default.
    min_agreement
        Least share of closed questions that both answer alike; 0.9 by default.
    margin
        Least share of an item's time that a copy must save; 0.05 by default.
    seconds
        How long speeds are measured, in all; packing and judging come on top.
    quick
        A quarter of the time, of the text sample, and fewer points of the curves.
    fresh
        Measure again where it was done before.
    forget
        Remove the tuned copy and what was measured.
    html
        A file for a page with the figures and the curves.
    threads
        CPU threads.
    offline
        Never use the network.
    json
        One JSON object, for machines.
    quiet
        No word of what is going on.
    """
    from vedette.config import load
    from vedette.models import tuned

    settings = load(model=model, threads=threads, offline=offline)
    if forget:
        return _forget(settings)
    bounds = {"max_kl": max_kl, "min_agreement": min_agreement, "margin": margin}
    plan = _plan(settings, types, bounds, seconds, quick)
    if html is not None:
        check_file(html)
    weights = _weights(settings, quiet=quiet)
    known = None if fresh else tuned.find(_hash(weights))
    if known is not None:
        from vedette.tune.report import report_of

        report = report_of(known)
        names = None if types is None else {one.name for one in plan.candidates}
        _check_kept(report, {**bounds, "threads": threads, "types": names})
        note(f"measured on {known.date}; --fresh measures again", quiet=quiet)
    else:
        report = _run(weights, plan, quiet=quiet)
    if html is not None:
        from vedette.tune.html import page

        write_page(html, page(report))
    if json:
        print_json(report.as_dict())
    else:
        _print(report)
    return 0


def _plan(
    settings: Settings,
    types: str | None,
    bounds: Mapping[str, float | None],
    seconds: float | None,
    quick: bool,
) -> Plan:
    from vedette.tune.candidates import CANDIDATES, candidates_of
    from vedette.tune.plan import Plan
    from vedette.tune.report import Bounds

    if seconds is None:
        seconds = QUICK_SECONDS if quick else DEFAULT_SECONDS
    if not (math.isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
        raise InputError(f"--seconds must be above 0, up to {MOST_SECONDS:g}, not {seconds:g}")
    given = {name: value for name, value in bounds.items() if value is not None}
    return Plan(
        threads=settings.thread_count,
        kv_type=settings.kv_type,
        seconds=seconds,
        quick=quick,
        bounds=Bounds(**given),
        candidates=CANDIDATES if types is None else candidates_of(types),
    )


def _check_kept(report: Report, asked: Mapping[str, object]) -> None:
    """Raise `InputError` where what was measured is not what is asked for now."""
    kept = {
        **asdict(report.bounds),
        "threads": report.threads,
        "types": {one.name for one in report.tried},
    }
    for name, value in asked.items():
        if value is not None and value != kept[name]:
            raise InputError(
                f"--{name.replace('_', '-')} is not what {report.model} was measured with",
                hint="add --fresh to measure again, or leave it out to see what was found",
            )


def _weights(settings: Settings, *, quiet: bool) -> Weights:
    from vedette.backends.local import fetch
    from vedette.models.locate import locate
    from vedette.models.progress import progress_for_stderr

    fetch(settings, progress_for_stderr(quiet=quiet))
    return locate(settings.model)


def _hash(weights: Weights) -> str:
    from vedette.models.fingerprint import file_sha256

    return weights.sha256 or file_sha256(weights.path)


def _run(weights: Weights, plan: Plan, *, quiet: bool) -> Report:
    from vedette.models.progress import progress_for_stderr
    from vedette.tune.run import tune as run

    try:
        with stopped_by_sigterm():
            return run(weights, plan, progress_for_stderr(quiet=quiet))
    except KeyboardInterrupt:
        note("stopped; nothing was changed", quiet=quiet)
        raise


def _forget(settings: Settings) -> int:
    from vedette.models import tuned
    from vedette.models.locate import locate
    from vedette.models.units import human_bytes

    sha256 = _hash(locate(settings.model))
    n_bytes = tuned.forget(sha256)
    what = f"a tuned copy of {human_bytes(n_bytes)}" if n_bytes else "no tuned copy was there"
    print(f"{settings.model}: {'removed ' if n_bytes else ''}{what}")
    return 0


def _print(report: Report) -> None:
    from vedette.models.units import human_bytes

    numbers = ("size", "prefill", "decode", "of 8", "an item", "KL", "alike")
    print_table(
        ("packed as", *numbers, "verdict"),
        [
            (
                report.source_type,
                human_bytes(report.source_bytes),
                *_rates(report.source),
                "",
                "",
                "",
                "the source",
            ),
            *(_row(one) for one in report.tried),
        ],
        title=f"{report.model} with {report.threads} threads: tokens/s, and times the source's",
        right=numbers,
    )
    print()
    _print_curves(report)
    print()
    _print_settings(report)
    for text in (*report.cannot, *report.warnings):
        print(f"Note: {text}.")
    print(f"\n{report.conclusion}")
    if report.refused:
        print(report.refused)
    if (winner := report.winner) and winner.divergence and winner.agreement:
        apart, alike = winner.divergence, winner.agreement
        print(
            f"Next tokens: KL {apart.kl:.4f} nats over {apart.n_tokens:,} tokens, the same first "
            f"choice {apart.same_top:.1%}. Closed questions: {alike.same:.1%} of "
            f"{alike.n_questions} answered alike; right {alike.source_right:.1%} by the source, "
            f"{alike.copy_right:.1%} by the copy."
        )
        print(
            "Thresholds calibrated on the source do not hold for the copy: calibrate again, or "
            "give --no-tune."
        )


def _rates(speed: Speed) -> tuple[str, str, str]:
    return (
        f"{speed.prefill.tokens_per_s:.0f}",
        f"{speed.alone.tokens_per_s:.0f}",
        f"{speed.together.tokens_per_s:.0f}",
    )


def _row(one: Tried) -> tuple[str, ...]:
    from vedette.models.units import human_bytes

    rates = ["", "", "", ""]
    if one.speed is not None and one.gain is not None:
        gains = (one.gain.prefill, one.gain.alone, one.gain.together)
        rates = [
            f"{rate} ({gain:.2f})" for rate, gain in zip(_rates(one.speed), gains, strict=True)
        ]
        rates.append(f"{one.gain.item:.2f}")
    apart = f"{one.divergence.kl:.4f}" if one.divergence else ""
    alike = f"{one.agreement.same:.1%}" if one.agreement else ""
    return one.name, human_bytes(one.size_bytes), *rates, apart, alike, one.verdict


def _print_curves(report: Report) -> None:
    """T(n) at some sizes: the whole of it is in --json and --html."""
    from vedette.tune.curves import paddings

    shown = [n for n, _ in report.curves.tokens.points if n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)]
    lines = [
        ("tokens of one sequence", report.curves.tokens),
        ("sequences, a token each", report.curves.sequences),
    ]
    print_table(
        ("ms a step of", *map(str, shown)),
        [(what, *(f"{1000 * curve.seconds(n):.1f}" for n in shown)) for what, curve in lines],
        title=f"Steps of {report.chosen or report.source_type}",
        right=[str(n) for n in shown],
    )
    for what, curve in lines:
        pads = [f"{n} to {size}" for n, size in paddings(curve)]
        if pads:
            print(f"Padding pays ({what}): {', '.join(pads)}.")


def _print_settings(report: Report) -> None:
    for what, settings in (("threads", report.by_threads), ("KV type", report.by_kv_type)):
        rows = [
            (one.name, *_rates(one.speed), f"{one.gain.prefill:.2f}", f"{one.gain.alone:.2f}")
            for one in settings
        ]
        heads = ("prefill", "decode", "of 8", "prefill gain", "decode gain")
        print_table((what, *heads), rows, right=heads)
