"""`vedette spec`: speculative decoding with llama-server, without surprises."""

from __future__ import annotations

from cyclopts import App

app = App(name="spec", help="Plan, measure and mend speculative decoding with llama-server.")
app.command(
    "vedette.cli.spec_lint:lint",
    name="lint",
    help="Find and mend what is wrong in llama-server command lines.",
)
app.command(
    "vedette.cli.spec_plan:plan",
    name="plan",
    help="Predict what guessing ahead costs and brings, with the command.",
)
