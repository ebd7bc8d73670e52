"""What `vedette tune` found as one HTML page: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from vedette.engine.curve import CostCurve
from vedette.models.units import human_bytes

from .curves import paddings
from .report import Report

LEFT, RIGHT, TOP, BOTTOM = 44, 420, 10, 230  # a plot's frame, in pixels
TICKS = 4


def page(report: Report) -> str:
    """The whole page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("vedette.tune").joinpath("page.html.j2").read_text("utf-8")
    others = report.source_curves
    used = report.chosen or report.source_type
    return environment.from_string(source).render(
        r=report,
        used=used,
        human_bytes=human_bytes,
        plots=[
            _plot(
                "tokens of one sequence",
                [
                    (used, report.curves.tokens),
                    *([(report.source_type, others.tokens)] if others else []),
                ],
            ),
            _plot(
                "sequences, a token each",
                [
                    (used, report.curves.sequences),
                    *([(report.source_type, others.sequences)] if others else []),
                ],
            ),
        ],
        frame={"left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
    )


def _plot(across: str, lines: Sequence[tuple[str, CostCurve]]) -> dict[str, object]:
    """A plot of ms by size; the first line is that of the weights in use."""
    most_n = max(n for _, curve in lines for n, _ in curve.points)
    most_ms = max(1000 * seconds for _, curve in lines for _, seconds in curve.points)

    def x(n: float) -> float:
        return round(LEFT + n / most_n * (RIGHT - LEFT), 1)

    def y(ms: float) -> float:
        return round(BOTTOM - ms / most_ms * (BOTTOM - TOP), 1)

    return {
        "across": across,
        "lines": [
            {
                "name": name,
                "points": [
                    {"x": x(n), "y": y(1000 * s), "title": f"{name}, {n}: {1000 * s:.2f} ms"}
                    for n, s in curve.points
                ],
            }
            for name, curve in lines
        ],
        "x_ticks": [{"x": x(n), "text": n} for n in (1, 4, 8, 12, 16, 24, 32) if n <= most_n],
        "y_ticks": [
            {"y": y(most_ms * i / TICKS), "text": f"{most_ms * i / TICKS:.3g}"}
            for i in range(TICKS + 1)
        ],
        "paddings": [f"{n} to {size}" for n, size in paddings(lines[0][1])],
    }
