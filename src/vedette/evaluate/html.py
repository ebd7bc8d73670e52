"""A report as one HTML page that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from .report import Report

LEFT, RIGHT, TOP, BOTTOM = 40, 300, 10, 210  # the plots' frame, in pixels
MOST_ROWS = 200


def page(*reports: Report) -> str:
    """The whole page, a section for each report."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("vedette.evaluate").joinpath("report.html.j2").read_text("utf-8")
    sections = [_section(report) for report in reports]
    return environment.from_string(source).render(sections=sections, percent=percent, x=_x, y=_y)


def _section(report: Report) -> dict[str, object]:
    most = max((point.error for point in report.risk), default=0.0) or 1.0
    wrong = report.wrong
    return {
        "r": report,
        "figures": _figures(report),
        "bars": _bars(report),
        "curve": _curve(report, most),
        "most_error": percent(most),
        "wrong": wrong[:MOST_ROWS],
        "n_wrong": len(wrong),
    }


def percent(share: float | None) -> str:
    """A share for people; nothing for none."""
    return "" if share is None else f"{100 * share:.1f}%"


def _figures(report: Report) -> list[tuple[str, str]]:
    body = report.as_dict()
    figures = [
        ("rows", f"{body['n']:,}"),
        ("right", percent(report.accuracy)),
        ("calibration error", percent(_number(body["ece"]))),
        ("rows/s", f"{body['items_per_s']:,}"),
        ("tokens", f"{body['tokens']:,}"),
    ]
    if report.mae is not None:
        figures.insert(2, ("mean error in levels", f"{body['mae']}"))
    if body["errors"]:
        figures.insert(1, ("errors", f"{body['errors']:,}"))
    if report.kept is not None:
        figures += [
            ("kept", percent(report.kept.coverage)),
            ("wrong of these", percent(report.kept.error)),
        ]
    return figures


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _x(share: float) -> float:
    return round(LEFT + share * (RIGHT - LEFT), 1)


def _y(share: float) -> float:
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def _bars(report: Report) -> list[dict[str, object]]:
    bins = report.bins
    most = max((one.n for one in bins), default=1)
    return [
        {
            "x": _x(one.low) + 1,
            "width": round(_x(one.high) - _x(one.low) - 2, 1),
            "y": _y(one.accuracy),
            "height": round(BOTTOM - _y(one.accuracy), 1),
            "opacity": round(0.25 + 0.75 * one.n / most, 2),
            "title": f"{one.n} rows: confidence {percent(one.confidence)}, "
            f"right {percent(one.accuracy)}",
        }
        for one in bins
    ]


def _curve(report: Report, most: float) -> str:
    return " ".join(f"{_x(point.coverage)},{_y(point.error / most)}" for point in report.risk)
