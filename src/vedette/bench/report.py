"""What a measurement found, as data: printed as tables for people, as JSON for machines."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vedette.engine.options import EngineOptions
from vedette.types import Item, Json

from .build import Build, cpu_name
from .compare import (
    Shares,
    Spread,
    Validator,
    accuracy,
    agreement,
    ratios,
    spread,
    valid_share,
)
from .contest import Contest
from .keywords import Given
from .questions import Questions
from .runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """On what, with what, about what."""

    cpu: str
    cpus: int
    system: str
    threads: int
    model: str
    model_path: Path
    data: str
    items: int
    blank: int
    refused: int
    repeat: int
    vedette_width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SideReport:
    """One side: speed over all its repeats, tokens and answers of its first run.

    `completion_tokens` has the `forced_tokens` among them. `valid` is the share of answers that
    fit the schema, `own_cpu_share` the CPU time of this process by wall time: for a peer, what
    the client itself took. `others_cpu_share` is the part of all CPUs that was taken by what has
    no part in the measurement, in the worst of the runs.
    """

    name: str
    items_per_s: Spread
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    forced_tokens: int
    errors: int
    reasons: tuple[str, ...]
    valid: float
    accuracy: Shares | None
    own_cpu_share: float
    others_cpu_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerReport:
    """The llama-server: which build, at its best setting, and how that was chosen.

    `calibration` has the items/s of the short runs by the peer's name.
    """

    program: Path
    build: Build
    slots: int
    slot_tokens: int
    flash_attention: bool
    calibration: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingReport:
    """llama-cpp-python's own call on the first items, against vedette on the same ones."""

    items: int
    binding: SideReport
    vedette: SideReport
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordReport:
    """The keywords of vedette's own in the schema, and which sides were given what they say."""

    given: Given
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A measurement. `ratio` is vedette's items/s by the peer's at its best."""

    kind: str
    setting: Setting
    peer: PeerReport
    sides: tuple[SideReport, ...]
    ratio: Spread
    agreement: Shares | None
    keywords: KeywordReport | None
    binding: BindingReport | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What answers are held against."""

    validator: Validator
    expected: Mapping[str, Json]

    def side(self, runs: Sequence[Run], items: Sequence[Item]) -> SideReport:
        """The report on one side's runs."""
        first = runs[0]
        usage = first.usage
        return SideReport(
            name=first.side,
            items_per_s=spread([run.items_per_s for run in runs]),
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens,
            forced_tokens=usage.forced_tokens,
            errors=sum(bool(reply.error) for reply in first.replies),
            reasons=first.errors,
            valid=valid_share(first.replies, self.validator),
            accuracy=accuracy(items, first.replies, self.expected),
            own_cpu_share=sum(run.own_cpu_s for run in runs) / sum(run.wall_s for run in runs),
            others_cpu_share=max(
                run.others_cpu_s / (run.wall_s * (os.cpu_count() or 1)) for run in runs
            ),
        )


def setting(
    *,
    options: EngineOptions,
    model: str,
    model_path: Path,
    data: str,
    questions: Questions,
    repeat: int,
) -> Setting:
    """The setting, with what this machine says of itself."""
    return Setting(
        cpu=cpu_name(),
        cpus=os.cpu_count() or 1,
        system=platform.platform(terse=True),
        threads=options.threads,
        model=model,
        model_path=model_path,
        data=data,
        items=len(questions.asked),
        blank=questions.blank,
        refused=questions.refused,
        repeat=repeat,
        vedette_width=options.width,
    )


def report(
    kind: str,
    setting: Setting,
    peer: PeerReport,
    contest: Contest,
    judge: Judge,
    items: Sequence[Item],
    keywords: KeywordReport | None,
    binding: BindingReport | None,
) -> Report:
    """The report on a contest."""
    ours, theirs = contest.ours, contest.theirs
    return Report(
        kind=kind,
        setting=setting,
        peer=peer,
        sides=tuple(judge.side(runs, items) for runs in (ours, *contest.peers.values())),
        ratio=ratios([run.items_per_s for run in ours], [run.items_per_s for run in theirs]),
        agreement=agreement(ours[0].replies, theirs[0].replies),
        keywords=keywords,
        binding=binding,
    )
