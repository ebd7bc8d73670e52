"""`vedette ledger`: what the gateway's requests took, and what was saved."""

from __future__ import annotations

from dataclasses import asdict

from vedette.cli.console import note, print_json, print_table

COLUMNS = (
    "route",
    "tier",
    "requests",
    "share",
    "unanswered",
    "cached",
    "tokens in",
    "tokens out",
    "cost",
    "saved",
    "mean ms",
)


def ledger(*, since: str = "", url: str | None = None, json: bool = False) -> int:
    """Add up the gateway's ledger: requests by route and tier, tokens, money spent and saved.

    Parameters
    ----------
    since
        Only requests since then: 24h, 7d, a date, or a date and time (UTC).
    url
        The ledger's database, if it is not the one of [gateway.ledger].
    json
        One JSON object, for machines.
    """
    from vedette.config import load
    from vedette.gateway.ledger import Ledger, Sums
    from vedette.gateway.open import configured, ledger_url
    from vedette.gateway.report import since_s, whole

    settings = load()
    begin_s = since_s(since)
    opened = Ledger(url or ledger_url(configured(settings), settings))
    try:
        sums = opened.sums(begin_s)
    finally:
        opened.close()
    total = whole(sums)
    if json:
        print_json(
            {
                "since": since or None,
                "total": asdict(total),
                "routes": [asdict(one) for one in sums],
            }
        )
        return 0
    if not sums:
        note("the ledger has no requests" + (" since then" if since else ""))
        return 0

    def cells(one: Sums) -> list[object]:
        return [
            one.route,
            one.tier or "-",
            f"{one.requests:,}",
            f"{one.requests / total.requests:.1%}",
            f"{one.unanswered:,}",
            f"{one.cached:,}",
            f"{one.prompt_tokens:,}",
            f"{one.completion_tokens:,}",
            f"{one.cost:,.4f}",
            f"{one.saved:,.4f}",
            f"{one.mean_ms:,.0f}",
        ]

    rows = [cells(one) for one in ([*sums, total] if len(sums) > 1 else sums)]
    print_table(COLUMNS, rows, right=COLUMNS[2:])
    return 0
