"""Hold the predictor of `vedette spec plan` against published runs, and fit its parameters.

    python benchmarks/spec_plan_rows.py measurements.csv [--rows]

The table has the columns hardware, target, draft, method, k, acceptance, acceptance_low,
acceptance_high, baseline_tps, speculative_tps and source. A row's own acceptance, hardware and
plain speed go in; its speed-up comes out. spec_rows.toml says how the cells are read.

Printed: how right the signs are ("pays" is a speed-up above 1.05) and how far off the speed-ups,
with the parameters that vedette has; with ones fitted on these rows; each row predicted by a fit on
all others; each source by a fit on all other sources. Then the groups of parameters.toml.
"""

from __future__ import annotations

import argparse
import csv
import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from vedette.engine.curve import CostCurve
from vedette.spec.hardware import Cpu, Gpu, gpu_within
from vedette.spec.parameters import Fit, parameters
from vedette.spec.plan import MARGIN
from vedette.spec.predict import (
    Costs,
    constant_acceptance,
    draft_acceptance,
    expected_tokens,
    tokens_by_share,
)
from vedette.spec.speed import Load, ModelledStep, Reader, cpu_reader, gpu_reader

READING = tomllib.loads(Path(__file__).with_name("spec_rows.toml").read_text(encoding="utf-8"))
LONGEST = 8
EFFICIENCY = parameters().efficiency
# Where every fit begins: round numbers, so that a row left out has no say in them either.
START = Fit(
    slope_recent=0.15,
    slope_older=0.15,
    slope_apple=0.15,
    cpu_cores_per_token=2.0,
    overhead=0.05,
    range_weight=0.5,
    draft_acceptance=0.95,
    draft_acceptance_per_halving=0.05,
)
_WORST = 0.7  # of |log| that one row can add: a run of a broken build shall not bend the fit
_SIGN = 0.1  # what a wrong sign adds
_PULL = 0.01  # chosen among 0, 0.003, 0.01 and 0.03 by the sources left out


@dataclass(frozen=True)
class Row:
    hardware: str
    target: dict[str, Any]
    draft: dict[str, Any]
    is_head: bool
    k: int | None
    share: float | None
    share_range: tuple[float, float] | None
    plain_tps: float
    speedup: float
    source: str

    @property
    def pays(self) -> bool:
        return self.speedup > 1 + MARGIN


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(cells) for cells in csv.DictReader(file)]


def _row(cells: dict[str, str]) -> Row:
    target = dict(_named(READING["targets"], cells["target"]))
    for quantisation, gb in READING["quantised"].items():
        if quantisation in cells["hardware"] and "Qwen3.8" in cells["target"]:
            target["gb"] = gb
    low, high = cells["acceptance_low"], cells["acceptance_high"]
    k = cells["k"] or READING["lengths"].get(cells["source"])
    return Row(
        hardware=cells["hardware"],
        target=target,
        draft=_named(READING["drafts"], cells["draft"]),
        is_head=cells["method"] == "draft-mtp",
        k=int(k) if k else None,
        share=float(cells["acceptance"]) if cells["acceptance"] else None,
        share_range=(float(low), float(high)) if low and high else None,
        plain_tps=float(cells["baseline_tps"]),
        speedup=float(cells["speculative_tps"]) / float(cells["baseline_tps"]),
        source=cells["source"],
    )


def _named(table: dict[str, Any], cell: str) -> Any:
    """The entry with the longest name that begins the cell."""
    return table[max((name for name in table if cell.startswith(name)), key=len)]


def _placed(table: dict[str, Any], cell: str) -> Any:
    """The entry whose name begins the cell, or None."""
    return next((value for name, value in table.items() if cell.startswith(name)), None)


def gpu_of(row: Row) -> Gpu | None:
    return gpu_within(_placed(READING["hardware"], row.hardware) or row.hardware)


def costs_of(row: Row, fit: Fit) -> Costs:
    """The row's costs, in seconds, scaled so that a plain step takes what it took."""
    plain_s = 1 / row.plain_tps
    overhead_s = fit.overhead * plain_s
    if measured := _placed(READING["measured"], row.hardware):
        curve = CostCurve.of({int(n): ms / 1000 for n, ms in measured["curve"].items()})
        return Costs(target=curve, draft_s=measured["draft_ms"] / 1000, overhead_s=overhead_s)
    gpu, gb = gpu_of(row), row.target["gb"]
    if offloaded := _placed(READING["offloaded"], row.hardware):
        assert gpu is not None
        reader = gpu_reader(gpu, fit, EFFICIENCY)
        step = _offloaded(row, reader, offloaded["layers"], _cpu_slope(offloaded["cores"], fit))
    else:
        if gpu is None:  # a CPU
            reader = Reader(bytes_per_s=1.0, slope=_cpu_slope(16, fit))
        else:
            reader = gpu_reader(gpu, fit, EFFICIENCY)
        reader = replace(reader, bytes_per_s=gb * 1e9 / plain_s)
        step = _whole(row, reader)
    read_s = row.draft["gb"] * 1e9 / reader.bytes_per_s
    draft_s = read_s + row.draft["layers"] * reader.layer_s
    # The plain step is what was measured; where layers had to make room for the draft, `step` is
    # that of fewer layers, so the two differ.
    return Costs(
        target=_Anchored(step, plain_s),
        draft_s=draft_s,
        catch_up_s=min(draft_s, read_s * reader.slope),
        overhead_s=overhead_s,
    )


@dataclass(frozen=True)
class _Anchored:
    """A step without guesses as it was measured; with them as modelled."""

    step: ModelledStep
    plain_s: float

    def seconds(self, n: int) -> float:
        return self.plain_s if n == 1 else self.step.seconds(n)


def _cpu_slope(cores: int, fit: Fit) -> float:
    return cpu_reader(Cpu(name="", bytes_per_s=1.0, cores=cores), fit, EFFICIENCY).slope


def _whole(row: Row, reader: Reader) -> ModelledStep:
    n_bytes = row.target["gb"] * 1e9
    part = row.target.get("expert_part", 0.0)
    share = row.target.get("used", 1) / row.target.get("experts", 1)
    load = Load(
        reader=reader, dense_bytes=n_bytes * (1 - part), expert_bytes=n_bytes * part / share
    )
    return ModelledStep(loads=(load,), experts_share=share)


def _offloaded(row: Row, gpu: Reader, layers_without: int, cpu_slope: float) -> ModelledStep:
    """The CPU's speed follows from the plain run; with a draft the cell may have fewer layers."""
    layer_bytes = row.target["gb"] * 1e9 / row.target["layers"]
    on_cpu = row.target["layers"] - layers_without
    cpu_s = 1 / row.plain_tps - layers_without * layer_bytes / gpu.bytes_per_s
    cpu = Reader(bytes_per_s=on_cpu * layer_bytes / cpu_s, slope=cpu_slope)
    said = row.hardware.partition(", ")[2].split(" target layers")[0]
    layers = int(said) if said.isdigit() else layers_without
    return ModelledStep(
        loads=(
            Load(reader=gpu, dense_bytes=layers * layer_bytes),
            Load(reader=cpu, dense_bytes=(row.target["layers"] - layers) * layer_bytes),
        )
    )


def share_of(row: Row, fit: Fit) -> float | None:
    """The share of guesses that were accepted, as far as it is known."""
    if row.share is not None or row.share_range is None:
        return row.share
    low, high = row.share_range
    return low + fit.range_weight * (high - low)


def chance_of(row: Row, fit: Fit, head: float) -> float:
    """The chance of a guess where the row states no acceptance."""
    if row.is_head:
        return head
    return draft_acceptance(
        fit,
        target_parameters=row.target["billions"],
        draft_parameters=row.draft["billions"],
    )


def predicted(row: Row, fit: Fit, head: float) -> float:
    """The speed-up; where no length is stated, at the best one."""
    costs, share = costs_of(row, fit), share_of(row, fit)
    if share is None:
        chance = chance_of(row, fit, head)
        lengths = [row.k] if row.k else range(1, LONGEST + 1)
        return max(costs.speedup(k, expected_tokens([chance] * k), chance**k) for k in lengths)
    k = row.k or LONGEST
    return costs.speedup(k, tokens_by_share(k, share), constant_acceptance(k, share) ** k)


def head_chances(rows: Sequence[Row], fit: Fit) -> list[float]:
    """The chance of a guess of the rows with a head that state an acceptance below 1."""
    return [
        constant_acceptance(row.k, share)
        for row in rows
        if row.is_head and row.k and (share := share_of(row, fit)) is not None and share < 1
    ]


def loss(rows: Sequence[Row], fit: Fit) -> float:
    head = median(head_chances(rows, fit) or [parameters().acceptance.head])
    total = 0.0
    for row in rows:
        speedup = predicted(row, fit, head)
        total += min(_WORST, abs(math.log(speedup / row.speedup)))
        total += _SIGN * ((speedup > 1 + MARGIN) != row.pays)
    return total / len(rows)


def penalised(rows: Sequence[Row], fit: Fit) -> float:
    """The loss, and a little for each parameter that leaves its start: some rows say little."""
    pull = sum(math.log(value / getattr(START, name)) ** 2 for name, value in asdict(fit).items())
    return loss(rows, fit) + _PULL * pull


def fitted(rows: Sequence[Row]) -> Fit:
    """Coordinate search: few parameters, a rough surface, reproducible."""
    best, least, step = START, penalised(rows, START), 0.3
    while step > 0.01:
        before = least
        for name in asdict(best):
            for factor in (1 + step, 1 / (1 + step)):
                value = min(getattr(best, name) * factor, _most(name))
                trial = replace(best, **{name: value})
                found = penalised(rows, trial)
                if found < least - 1e-6:
                    best, least = trial, found
        if least == before:
            step /= 2
    return best


def _most(name: str) -> float:
    return 0.98 if name in ("range_weight", "draft_acceptance") else 10.0


@dataclass(frozen=True)
class Held:
    row: Row
    speedup: float

    @property
    def right(self) -> bool:
        return (self.speedup > 1 + MARGIN) == self.row.pays

    @property
    def error(self) -> float:
        return abs(self.speedup / self.row.speedup - 1)


def hold(rows: Sequence[Row], fit: Fit, train: Sequence[Row]) -> list[Held]:
    head = median(head_chances(train, fit) or [parameters().acceptance.head])
    return [Held(row, predicted(row, fit, head)) for row in rows]


def leave_out(rows: Sequence[Row], *, by_source: bool) -> list[Held]:
    groups: dict[object, list[Row]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(row.source if by_source else index, []).append(row)
    held = []
    for group in groups.values():
        others = [row for row in rows if row not in group]
        held += hold(group, fitted(others), others)
    return held


def tell(title: str, held: Sequence[Held]) -> None:
    stated = [each for each in held if each.row.share or each.row.share_range]
    print(
        f"{title:<34} signs {sum(each.right for each in held)}/{len(held)}"
        f"  median error {median(each.error for each in held):.1%}"
        f"  of the {len(stated)} with an acceptance {median(each.error for each in stated):.1%}"
        f"  mean {np.mean([each.error for each in held]):.1%}"
    )


def tell_parameters(rows: Sequence[Row], fit: Fit, held: Sequence[Held]) -> None:
    """The groups of parameters.toml, from these rows."""
    print("\n[fit]")
    for name, value in asdict(fit).items():
        print(f"{name} = {value:.3g}")
    print("\n[acceptance]")
    print(f"head = {median(head_chances(rows, fit)):.2f}")
    ranges = [
        (row.k, *row.share_range) for row in rows if row.is_head and row.k and row.share_range
    ]
    print(f"head_low = {median(constant_acceptance(k, low) for k, low, _ in ranges):.2f}")
    print(f"head_high = {median(constant_acceptance(k, high) for k, _, high in ranges):.2f}")
    ratios = [each.row.speedup / each.speedup for each in held]
    print("\n[interval]")
    for name, quantile in (("low", 10), ("high", 90)):
        print(f"speedup_{name} = {np.percentile(ratios, quantile):.2f}")
    shares = [
        row.target["gb"] * 1e9 * row.plain_tps / gpu.bytes_per_s
        for row in rows
        if (gpu := gpu_of(row))
        and not _placed(READING["offloaded"], row.hardware)
        and "2×" not in row.hardware
        and "+" not in row.hardware
    ]
    print("\n[efficiency]")
    for name, quantile in (("gpu", 50), ("gpu_low", 10), ("gpu_high", 90)):
        print(f"{name} = {np.percentile(shares, quantile):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", type=Path)
    parser.add_argument("--rows", action="store_true", help="a line for each row, left out")
    args = parser.parse_args()
    rows, shipped = read_rows(args.csv), parameters().fit
    fit = fitted(rows)
    tell("as shipped", hold(rows, shipped, rows))
    tell("fitted on these rows", hold(rows, fit, rows))
    by_row = leave_out(rows, by_source=False)
    tell("each row left out", by_row)
    tell("each source left out", leave_out(rows, by_source=True))
    if args.rows:
        for each in by_row:
            mark = "" if each.right else "  wrong sign"
            print(f"{each.row.speedup:5.2f} {each.speedup:5.2f}  {each.row.hardware[:60]}{mark}")
    tell_parameters(rows, fit, by_row)


if __name__ == "__main__":
    main()
