"""A measurement's report for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vedette.bench.compare import Shares, Spread
from vedette.bench.report import (
    BindingReport,
    KeywordReport,
    PeerReport,
    Report,
    Setting,
    SideReport,
)
from vedette.cli.console import print_table

QUIET_SHARE = 0.05
"""A machine on which others take more of the CPUs than this is not quiet enough to measure."""

NUMBERS = ("items/s", "min", "max", "in", "cached", "out", "forced", "valid", "errors")


def print_report(report: Report) -> None:
    """The setting, the sides, what they agree on, and the ratio."""
    lines = [*_setting(report.setting), *_peer(report.peer), *_keywords(report.keywords)]
    print_table(("what", "is"), lines)
    _print_sides(report.sides)
    _print_fields(report.sides, report.agreement)
    _print_errors(report.sides)
    _print_noise(report.sides)
    print(f"ratio: vedette is {_times(report.ratio)} as fast as the llama-server")
    if report.binding:
        _print_binding(report.binding)


def _setting(setting: Setting) -> Iterator[tuple[str, str]]:
    yield "machine", f"{setting.cpu}, {setting.cpus} CPUs, {setting.system}"
    yield "model", f"{setting.model} ({setting.model_path})"
    left_out = [
        f"{count} {what}"
        for count, what in ((setting.blank, "blank"), (setting.refused, "unreadable or too long"))
        if count
    ]
    without = f", without {' and '.join(left_out)}" if left_out else ""
    yield "data", f"{setting.data}: {setting.items} items{without}"
    yield "runs", f"{setting.repeat} of each side, in turns, {setting.threads} threads"


def _peer(peer: PeerReport) -> Iterator[tuple[str, str]]:
    build = peer.build
    yield "llama-server", f"{build.version} ({peer.program})"
    kind = {
        "native": "native: it uses all that this CPU has",
        "generic": f"generic: it leaves unused {', '.join(build.unused)}",
        "unknown": "unknown: it does not say what it uses",
    }
    yield "its build", kind[build.kind]
    if build.features:
        yield "it uses", ", ".join(build.features)
    attention = "" if peer.flash_attention else ", flash attention off"
    yield "its best", f"{peer.slots} slots of {peer.slot_tokens} tokens{attention}"
    if peer.calibration:
        rates = (f"{name} {rate:.2f} items/s" for name, rate in peer.calibration.items())
        yield "chosen by", ", ".join(rates)


def _keywords(keywords: KeywordReport | None) -> Iterator[tuple[str, str]]:
    if keywords and keywords.used:
        who = {
            "ours": "only vedette can use them; the peer has the schema without",
            "both": "the peer has what they say of each row, but for x-verbatim",
            "none": "neither side has them",
        }
        yield "keywords", f"{', '.join(keywords.used)}: {who[keywords.given]}"


def _print_sides(sides: Sequence[SideReport]) -> None:
    rows = [
        (
            side.name,
            f"{side.items_per_s.median:.2f}",
            f"{side.items_per_s.min:.2f}",
            f"{side.items_per_s.max:.2f}",
            side.prompt_tokens,
            side.cached_tokens,
            side.completion_tokens,
            side.forced_tokens,
            _percent(side.valid),
            side.errors,
        )
        for side in sides
    ]
    print_table(("side", *NUMBERS), rows, title="Speed and tokens", right=NUMBERS)


def _print_fields(sides: Sequence[SideReport], agreed: Shares | None) -> None:
    columns: dict[str, Shares] = {}
    for side in sides:
        if side.accuracy:
            columns[f"{side.name} right"] = side.accuracy
    if agreed:
        columns["both the same"] = agreed
    if not columns:
        return
    fields = list(dict.fromkeys(name for shares in columns.values() for name in shares.fields))
    rows = [
        (name, *(_percent(shares.fields.get(name)) for shares in columns.values()))
        for name in fields
    ]
    if len(fields) > 1:
        rows.append(("all fields", *(_percent(shares.whole) for shares in columns.values())))
    rows.append(("items", *(str(shares.rows) for shares in columns.values())))
    print_table(("field", *columns), rows, title="Answers", right=list(columns))


def _print_errors(sides: Sequence[SideReport]) -> None:
    rows = [(side.name, reason) for side in sides for reason in side.reasons]
    if rows:
        print_table(("side", "error"), rows, title="Errors")


def _print_noise(sides: Sequence[SideReport]) -> None:
    loudest = max(sides, key=lambda side: side.others_cpu_share)
    if loudest.others_cpu_share > QUIET_SHARE:
        print(
            f"note: the machine was not quiet: other processes took "
            f"{_percent(loudest.others_cpu_share)} of its CPUs during a run of {loudest.name}, "
            "so these speeds mean little"
        )


def _print_binding(binding: BindingReport) -> None:
    sides = (binding.vedette, binding.binding)
    print(f"On the first {binding.items} items, against llama-cpp-python's own call:")
    _print_sides(sides)
    _print_fields(sides, None)
    _print_errors(sides)
    print(f"ratio: vedette is {binding.ratio:.2f} times as fast as llama-cpp-python's own call")


def _times(ratio: Spread) -> str:
    return f"{ratio.median:.2f} times ({ratio.min:.2f} to {ratio.max:.2f})"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
