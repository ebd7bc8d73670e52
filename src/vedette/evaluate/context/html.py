"""What `vedette context` found as one HTML page: no script, no font, no network."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from .measure import Report, Row

LEFT, RIGHT, TOP, BOTTOM = 40, 560, 10, 210  # the plot's frame, in pixels


def page(report: Report) -> str:
    """The whole page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("vedette.evaluate.context").joinpath("page.html.j2").read_text("utf-8")
    least = report.share * report.rows[0].accuracy
    xs = _places(len(report.rows))
    return environment.from_string(source).render(
        r=report,
        points=[
            {"x": x, "y": _y(row.accuracy), "label": f"{row.length:,}", "found": percent(row)}
            for x, row in zip(xs, report.rows, strict=True)
        ],
        least=round(least, 4),
        least_y=_y(least),
        heads=[f"{place:.0%}" for place in report.plan.places],
        rows=[
            {
                "length": f"{row.length:,}",
                "found": percent(row),
                "cells": [{"text": f"{one:.0%}", "opacity": round(one, 2)} for one in row.shares],
            }
            for row in report.rows
        ],
        y=_y,
    )


def percent(row: Row) -> str:
    """A length's accuracy for people."""
    return f"{row.accuracy:.0%}"


def _places(n: int) -> list[float]:
    """Across, one for each length: they double, so equal steps are a logarithmic axis."""
    step = (RIGHT - LEFT - 40) / max(1, n - 1)
    return [round(LEFT + 20 + i * step, 1) for i in range(n)]


def _y(share: float) -> float:
    return round(BOTTOM - share * (BOTTOM - TOP), 1)
