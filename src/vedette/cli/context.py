"""`vedette context`: how much text a model can use, whatever its label says."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from vedette.cli.console import note, print_json, print_table
from vedette.cli.report_output import check_page, write_page
from vedette.config import load

if TYPE_CHECKING:
    from vedette.backends.local import LocalBackend
    from vedette.evaluate.context.measure import Report


def context(
    model: str | None = None,
    *,
    min_length: int = 512,
    max_length: int = 8192,
    depths: int = 10,
    trials: int = 3,
    share: float = 0.9,
    no_store: bool = False,
    html: str | None = None,
    threads: int | None = None,
    offline: bool | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Measure up to which length a model finds what stands in a text, and remember it.

    Parameters
    ----------
    model
        Name, hf:user/repo:QUANT or path of the weights; the setting `model` if left out.
    min_length
        Tokens of the shortest prompt. From there on lengths double.
    max_length
        Tokens of the longest prompt.
    depths
        So many facts in each text, evenly spread from its beginning to its end.
    trials
        Texts of each length.
    share
        The recommended limit keeps at least this part of the shortest length's accuracy.
    no_store
        Only measure: do not remember the limit for this model file.
    html
        A file for a page with the figures and a plot.
    threads
        CPU threads.
    offline
        Never use the network.
    json
        One JSON object, for machines.
    quiet
        No word of how long it takes and how far it is.
    """
    from vedette.backends.local import LocalBackend, fetch, options_of
    from vedette.evaluate.context.measure import Plan, measure
    from vedette.models.progress import progress_for_stderr

    plan = Plan(min_length, max_length, depths, trials)
    check_page(html)
    settings = load(model=model, threads=threads, offline=offline)
    fetch(settings, progress_for_stderr(quiet=quiet))
    backend = LocalBackend(settings.model, options_of(settings))
    try:
        report = measure(backend, plan, share=share, tell=lambda text: note(text, quiet=quiet))
        stored = None if no_store else _store(backend, report)
    finally:
        backend.close()
    if html is not None:
        from vedette.evaluate.context.html import page

        write_page(html, page(report))
    if json:
        print_json({**report.as_dict(), "stored": stored})
        return 0
    heads = [f"{place:.0%}" for place in plan.places]
    columns = ("tokens", "found", *heads)
    rows = [
        (row.length, f"{row.accuracy:.0%}", *(f"{one:.0%}" for one in row.shares))
        for row in report.rows
    ]
    print_table(columns, rows, title=f"{report.model}: facts found, by depth", right=columns)
    print(_verdict(report, is_stored=stored is not None))
    return 0


def _store(backend: LocalBackend, report: Report) -> str | None:
    """Remember the limit; returns where, or None where there is none to remember."""
    from vedette.models.context_limit import ContextLimit, remember

    if report.limit_tokens is None:
        return None
    limit = ContextLimit(
        limit_tokens=report.limit_tokens,
        measured_tokens=report.plan.max_length,
        n_questions=report.n_questions,
        date=date.today().isoformat(),
    )
    return str(remember(backend.sha256, limit))


def _verdict(report: Report, *, is_stored: bool) -> str:
    n = report.n_questions
    if report.limit_tokens is None:
        return (
            f"no limit: of {n} facts in {report.rows[0].length} tokens it finds "
            f"{report.rows[0].accuracy:.0%}, which is too little to go by"
        )
    more = " or more" if report.limit_tokens == report.plan.max_length else ""
    told = "; stored, and used for cutting long texts" if is_stored else "; not stored"
    return f"recommended limit: {report.limit_tokens} tokens{more} ({n} questions a length){told}"
