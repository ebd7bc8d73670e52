"""`vedette eval TASK` and `vedette calibrate TASK`: labelled rows to a report, or to thresholds."""

from __future__ import annotations

from cyclopts import App

eval_app = App(name="eval", help="Say how good a task's answers are, from labelled rows.")
eval_app.command("vedette.cli.eval:evaluate", name="classify", help="Labels of rows.")
eval_app.command(
    "vedette.cli.eval_decide:evaluate", name="decide", help="Answers to closed questions."
)
eval_app.command("vedette.cli.eval_extract:evaluate", name="extract", help="Objects of rows.")

calibrate_app = App(name="calibrate", help="Find which answers can be kept, and promise it.")
calibrate_app.command("vedette.cli.eval:calibrate", name="classify", help="Labels of rows.")
calibrate_app.command(
    "vedette.cli.eval_decide:calibrate", name="decide", help="Answers to closed questions."
)
calibrate_app.command(
    "vedette.cli.calibrate_extract:calibrate", name="extract", help="Objects out of texts."
)
