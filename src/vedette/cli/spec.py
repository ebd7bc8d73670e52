"""`vedette spec`: whether a small model should guess for a large one."""

from __future__ import annotations

from cyclopts import App

app = App(name="spec", help="Say whether guessing ahead (speculative decoding) pays, and how.")
app.command(
    "vedette.cli.spec_plan:plan", name="plan", help="Predict memory and speed, with the command."
)
