"""A comparison as one HTML page that needs nothing else: no script, no font, no network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from .comparison import Comparison
from .report import Report

ROW = 22  # pixels of a line in the plot of speeds
LEFT, RIGHT, TOP = 210, 590, 24
POSITIONS = 12
PLOT = 40, 10, 340, 210  # the frame of the plot by position: left, top, right, bottom
COLOURS = ("#2a78d6", "#d6602a", "#2a9d5c", "#a03fb5", "#c79a00", "#5b6b7a")
TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """Ratios of speeds on a logarithmic axis."""

    least: float
    most: float

    @classmethod
    def of(cls, found: list[Comparison]) -> Scale:
        """One that holds every interval, and 1."""
        ends = [end for one in found if one.writing for end in _ends(one)]
        return cls(min([0.9, *ends]) / 1.05, max([1.1, *ends]) * 1.05)

    def x(self, ratio: float) -> float:
        """The place of a ratio, in pixels; what lies outside is put on the edge."""
        share = math.log(ratio / self.least) / math.log(self.most / self.least)
        return round(LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT), 1)

    @property
    def ticks(self) -> list[float]:
        """Ratios to be marked."""
        return [one for one in TICKS if self.least <= one <= self.most]


def page(report: Report) -> str:
    """The whole page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("vedette.spec.bench").joinpath("report.html.j2").read_text("utf-8")
    shown = [
        report.of(variant.name, workload)
        for workload in report.workloads
        for variant in report.variants
    ]
    scale = Scale.of(shown)
    return environment.from_string(source).render(
        r=report,
        baseline=report.variants[0].name,
        shown=shown,
        bars=_bars(shown, scale),
        scale=scale,
        height=TOP + ROW * sum(one.writing is not None for one in shown) + 24,
        lines=_lines(report),
        percent=percent,
    )


def percent(share: float | None) -> str:
    """A share for people; nothing for none."""
    return "" if share is None else f"{100 * share:.0f}%"


def _ends(one: Comparison) -> tuple[float, ...]:
    """What the axis has to hold; an interval that is not known has a middle only."""
    assert one.writing is not None
    if one.writing.kind == "unknown":
        return (one.writing.ratio,)
    # Two prompts can make an interval of any width: it may leave the plot.
    low, high = max(one.writing.low, 0.1), min(one.writing.high, 10.0)
    return (low, one.writing.ratio, high)


def _bars(shown: list[Comparison], scale: Scale) -> list[dict[str, object]]:
    bars: list[dict[str, object]] = []
    for one in shown:
        if one.writing is None:
            continue
        ends = _ends(one)
        bars.append(
            {
                "name": f"{one.workload}: {one.variant}",
                "y": TOP + ROW * len(bars) + ROW // 2,
                "low": scale.x(ends[0]),
                "high": scale.x(ends[-1]),
                "at": scale.x(one.writing.ratio),
                "kind": one.writing.kind.replace(" ", "-"),
                "title": one.verdict,
            }
        )
    return bars


def _lines(report: Report) -> list[dict[str, object]]:
    """The share of right guesses by place, a line for each variant that guessed."""
    left, top, right, bottom = PLOT
    lines: list[dict[str, object]] = []
    own = [report.of(variant.name) for variant in report.variants] if report.comparisons else []
    for one in own:
        points = [
            (left + (i + 0.5) * (right - left) / POSITIONS, bottom - n_right / n * (bottom - top))
            for i, (n, n_right) in enumerate(one.positions[:POSITIONS])
            if n
        ]
        if points:
            lines.append(
                {
                    "name": one.variant,
                    "colour": COLOURS[len(lines) % len(COLOURS)],
                    "points": [(round(x, 1), round(y, 1)) for x, y in points],
                }
            )
    return lines
