"""`vedette spec`: speculative decoding, without surprises."""

from __future__ import annotations

from cyclopts import App

app = App(name="spec", help="Plan, measure and mend guessing ahead (speculative decoding).")
app.command(
    "vedette.cli.spec_plan:plan",
    name="plan",
    help="Predict what guessing ahead costs and brings, with the command.",
)
app.command(
    "vedette.cli.spec_bench:bench",
    name="bench",
    help="Compare ways of guessing ahead, in turns, with confidence intervals.",
)
app.command(
    "vedette.cli.spec_lint:lint",
    name="lint",
    help="Find and mend what is wrong in llama-server command lines.",
)
