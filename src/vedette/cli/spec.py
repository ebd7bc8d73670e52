"""`vedette spec`: speculative decoding, without surprises."""

from __future__ import annotations

from cyclopts import App

app = App(name="spec", help="Measure whether guessing ahead (speculative decoding) pays.")
app.command(
    "vedette.cli.spec_bench:bench",
    name="bench",
    help="Compare ways of guessing ahead, in turns, with confidence intervals.",
)
