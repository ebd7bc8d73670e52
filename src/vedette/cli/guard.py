"""`vedette guard`: texts held against policies before they reach a model, or a reader."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from vedette.cli.console import note, print_json
from vedette.cli.job import (
    JobOptions,
    PathOrStdin,
    check_paths,
    open_backend,
    read_text,
    run_job,
    settings_of,
)
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.tasks.guard.task import Guard
    from vedette.tasks.guard.thresholds import GuardThresholds

FPR = 0.01
DELTA = 0.05


def guard(
    *paths: PathOrStdin,
    policy: Annotated[list[str] | None, Parameter(negative=())] = None,
    rules_only: bool = False,
    allow: str | None = None,
    thresholds: str | None = None,
    calibrate_on: str | None = None,
    fpr: float | None = None,
    delta: float | None = None,
    options: JobOptions | None = None,
) -> int:
    """Flag texts that break a policy, with the place: rules first, then a model.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    policy
        prompt-injection, indirect-injection, jailbreak, privacy, secrets, content, or a TOML file;
        may be given again (prompt-injection and jailbreak).
    rules_only
        Ask no model.
    allow
        A file of regular expressions, one a line; what they match counts for nothing.
    thresholds
        A file that --calibrate-on wrote for these policies and this model.
    calibrate_on
        Harmless texts: find thresholds over which few of them lie, and write them to --out.
    fpr
        With --calibrate-on: the share of harmless texts that may be flagged (0.01).
    delta
        With --calibrate-on: the chance that this promise is broken (0.05).
    """
    from vedette.api.guarding import has_say
    from vedette.tasks.guard.policy_file import DEFAULT, allowing, find_policy
    from vedette.tasks.guard.task import Guard
    from vedette.tasks.guard.thresholds import read_thresholds

    check_paths(paths, guard)
    options = options or JobOptions()
    patterns = read_text(allow, "allow-list").splitlines() if allow else []
    policies = [allowing(find_policy(spec), patterns, str(allow)) for spec in policy or DEFAULT]
    task = Guard(
        policies=tuple(policies),
        rules_only=rules_only,
        thresholds=read_thresholds(thresholds) if thresholds else None,
    )
    if calibrate_on is not None:
        if paths or thresholds:
            raise InputError("--calibrate-on goes with neither files nor --thresholds")
        return _calibrate(
            task,
            calibrate_on,
            FPR if fpr is None else fpr,
            DELTA if delta is None else delta,
            options,
        )
    if fpr is not None or delta is not None:
        raise InputError("--fpr and --delta go with --calibrate-on")
    if rules_only:
        return run_job(task, paths, options, asks_model=False)
    settings = settings_of(options)
    if has_say(task, settings):
        return run_job(task, paths, options)
    note(
        f"rules alone decide: no policy here has weights for {settings.model}, and there are no "
        "--thresholds for it",
        quiet=options.quiet,
    )
    unasked = replace(
        options,
        model=None,
        backend=None,
        lora=(),
        width=None,
        threads=None,
        no_tune=False,
        offline=None,
    )
    return run_job(task, paths, unasked, asks_model=False)


def _calibrate(task: Guard, path: str, fpr: float, delta: float, options: JobOptions) -> int:
    """Score harmless texts and write the thresholds; returns the exit code."""
    from vedette.backends.none import NoModel
    from vedette.cli.report_output import check_file
    from vedette.decide.risk import check_shares
    from vedette.evaluate.guard import calibrate_guard, harmless_texts

    _check_options(options)
    check_shares(fpr=fpr, delta=delta)
    check_file(options.out)
    if task.rules_only:
        options.refuse_model()
    items = harmless_texts(options.source((path,)))
    settings = settings_of(options)
    backend = NoModel() if task.rules_only else open_backend(settings, quiet=options.quiet)

    def tell(done: int, total: int) -> None:
        if done % 100 == 0:
            note(f"{done:,} of {total:,} texts", quiet=options.quiet)

    try:
        found = calibrate_guard(task, items, backend, fpr, delta, tell=tell)
    finally:
        backend.close()
    found.write(options.out)
    if options.json:
        print_json(found.as_dict())
    elif not options.quiet:
        _tell(found, options.out)
    return 0


def _check_options(options: JobOptions) -> None:
    """Raise `InputError` for what has no effect on a calibration, or is missing."""
    if options.out == "-":
        raise InputError("--calibrate-on needs --out FILE, where the thresholds are written")
    default = JobOptions()
    for name in ("workers", "journal", "retry_failed", "fresh", "show_prompt"):
        if getattr(options, name) != getattr(default, name):
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} has no effect with --calibrate-on")


def _tell(found: GuardThresholds, out: str) -> None:
    for name, one in found.policies.items():
        print(
            f"{name}: flagged over {one.above:.4f}; at most {one.fpr:.2%} of harmless texts, "
            f"{1 - one.delta:.0%} sure ({one.n_flagged} of {one.n_rows} here)"
        )
    print(f"written to {out}")
    sys.stdout.flush()
