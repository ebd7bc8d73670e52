"""The tuning of one model: pack, compare, judge, keep the best, measure its curve."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from vedette.cpu import this_cpu
from vedette.doctor.machine import this_machine
from vedette.doctor.probe import Probe, probe_spec
from vedette.doctor.report import BUSY_LOAD, check_room
from vedette.engine.llama.context import Context
from vedette.engine.llama.model import Model
from vedette.errors import EngineFailed, InputError
from vedette.models import tuned
from vedette.models.fingerprint import file_sha256
from vedette.models.gguf_facts import Facts, read_facts
from vedette.models.home import home
from vedette.models.locate import Weights
from vedette.models.partial import check_room as check_disk
from vedette.models.progress import Progress, Silent
from vedette.models.units import human_bytes

from .candidates import Candidate, fitting
from .curves import MOST, Curves, curves_of
from .plan import Plan, thread_counts
from .quality import (
    Agreement,
    Divergence,
    agreement,
    answers,
    divergence,
    questions,
    sample,
)
from .report import Report, Setting, Tried
from .requantise import expected_bytes, requantise
from .speed import Gain, Round, Speed, take_turns

LONG_PREFIX_TOKENS = 1024  # where KV types are compared: with few cells they cost nothing
KV_TYPES = ("f16", "q8_0")
AS_FAST = 0.97  # of the fastest's rate: what separates two such is noise
BUSY_SPREAD = 0.5
# How the time is shared out: comparing, curves, threads and KV types.
_COMPARING, _CURVES, _SETTINGS = 0.5, 0.35, 0.15


def tune(weights: Weights, plan: Plan, progress: Progress | None = None) -> Report:
    """Measure, and keep the fastest copy within the bounds, or the word that there is none.

    Until the end nothing of what is there changes; an interruption leaves nothing behind. Raises
    `InputError` for a model that cannot be packed, `DiskFull`, `EngineFailed` and what loading
    and scoring raise.
    """
    listener = progress or Silent()
    facts = read_facts(weights.path)
    if facts.split is not None:
        raise InputError(
            f"{weights.path} is file {facts.split[0]} of {facts.split[1]}, and tune takes whole "
            f"models only",
            hint="join the files first: llama-gguf-split --merge",
        )
    sha256 = weights.sha256 or file_sha256(weights.path)
    with tuned.workplace(sha256, listener) as folder:
        return _Tuner(weights, facts, sha256, plan, folder, listener).run()


class _Tuner:
    """One run. The source is loaded while candidates are compared with it."""

    def __init__(
        self,
        weights: Weights,
        facts: Facts,
        sha256: str,
        plan: Plan,
        folder: Path,
        progress: Progress,
    ) -> None:
        self._weights = weights
        self._facts = facts
        self._sha256 = sha256
        self._plan = plan
        self._folder = folder
        self._progress = progress
        self._candidates = fitting(plan.candidates, facts)
        self._source_rounds: list[Round] = []
        self._source_answers: list[list[int]] | None = None

    def run(self) -> Report:
        started = time.perf_counter()
        warnings = list(self._busy())
        with closing(Model(self._weights.path)) as source:
            tried = [self._try(source, candidate) for candidate in self._candidates]
            if not self._source_rounds:  # nothing to compare with: the source on its own
                self._source_rounds = self._alone(source)
            best, tried = self._choose(source, tried)
            source_curves = self._curves(source, "source") if best else None
        path = self._file(best) if best else self._weights.path
        with closing(Model(path)) as model:
            curves = self._curves(model, best or "source")
            by_threads, by_kv_type, cannot = self._settings(model)
        report = Report(
            model=self._weights.name,
            source_sha256=self._sha256,
            source_type=self._facts.file_type or "the source",
            source_bytes=self._weights.size_bytes,
            source=Speed.of(self._source_rounds),
            machine=tuned.machine_words(this_cpu()),
            build=tuned.build_words(),
            date=date.today().isoformat(),
            threads=self._plan.threads,
            kv_type=self._plan.kv_type,
            bounds=self._plan.bounds,
            tried=tuple(tried),
            chosen=best,
            curves=curves,
            source_curves=source_curves,
            by_threads=by_threads,
            by_kv_type=by_kv_type,
            cannot=cannot,
            warnings=tuple(warnings),
            took_s=round(time.perf_counter() - started, 1),
        )
        report = replace(report, warnings=(*warnings, *_unsteady(report)))
        self._keep(report)
        return report

    def _busy(self) -> Iterator[str]:
        machine = this_machine(home())
        sizes = [expected_bytes(self._weights.path, one) for one in self._candidates]
        check_room(
            self._weights,
            machine.memory,
            cells=2 * LONG_PREFIX_TOKENS,
            kv_type=self._plan.kv_type,
            beside_bytes=max(sizes, default=0),
        )
        if machine.load is not None and machine.load > BUSY_LOAD * machine.cpu.cpus:
            text = (
                f"{machine.load:.1f} processes wanted the {machine.cpu.cpus} CPUs when this began: "
                f"the rates are less than the machine can do"
            )
            self._progress.note(text)
            yield text

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.gguf"

    def _try(self, source: Model, candidate: Candidate) -> Tried:
        """Pack, and compare with the source; the file stays only if it is faster."""
        total_bytes = expected_bytes(self._weights.path, candidate)
        check_disk(self._folder, total_bytes)
        target = self._file(candidate.name)
        began = time.perf_counter()
        begun = self._file(candidate.begins_as)
        requantise(
            begun if begun.exists() else self._weights.path,
            target,
            candidate,
            threads=self._plan.threads,
            progress=self._progress,
            total_bytes=total_bytes,
        )
        packed_s = round(time.perf_counter() - began, 1)
        size_bytes = target.stat().st_size
        with closing(Model(target)) as model:
            ours, theirs = self._in_turns(source, model)
        self._source_rounds += ours
        gain = Gain.of(ours, theirs)
        is_faster = self._plan.bounds.is_faster(gain)
        self._progress.note(
            f"{candidate.name}: {human_bytes(size_bytes)}, prefill {gain.prefill:.2f}, "
            f"decode {gain.alone:.2f}, of eight {gain.together:.2f} times the source's rate"
        )
        if not is_faster:
            target.unlink()
        return Tried(
            name=candidate.name,
            size_bytes=size_bytes,
            packed_s=packed_s,
            source=Speed.of(ours),
            speed=Speed.of(theirs),
            gain=gain,
            verdict="" if is_faster else "not faster by the margin",
        )

    def _in_turns(self, *models: Model) -> list[list[Round]]:
        seconds = self._plan.seconds * _COMPARING / max(1, len(self._candidates))
        with ExitStack() as stack:
            probes = [self._probe(stack, model) for model in models]
            return take_turns(probes, seconds)

    def _alone(self, source: Model) -> list[Round]:
        return self._in_turns(source)[0]

    def _probe(
        self,
        stack: ExitStack,
        model: Model,
        *,
        threads: int | None = None,
        kv_type: str | None = None,
        prefix_tokens: int = 32,
    ) -> Probe:
        spec = probe_spec(
            MOST,
            threads=threads or self._plan.threads,
            kv_type=kv_type or self._plan.kv_type,
            batch_tokens=256,
            prefix_tokens=prefix_tokens,
        )
        return Probe(stack.enter_context(closing(Context(model, spec))), prefix_tokens)

    def _choose(self, source: Model, tried: Sequence[Tried]) -> tuple[str | None, list[Tried]]:
        """The fastest within the bounds; of several about as fast the finest, which comes first.

        What is slower or coarser than the chosen one is not judged.
        """
        found = {one.name: one for one in tried}
        left = {one.name: one.gain.item for one in tried if one.gain and not one.verdict}
        while left:
            fastest = max(left.values())
            name = next(name for name, item in left.items() if item >= AS_FAST * fastest)
            del left[name]
            apart, alike = self._judge(source, name)
            complaint = self._plan.bounds.complaint(apart, alike)
            found[name] = replace(
                found[name], divergence=apart, agreement=alike, verdict=complaint or "chosen"
            )
            if not complaint:
                for other in left:
                    found[other] = replace(found[other], verdict=f"not better than {name}")
                return name, list(found.values())
        return None, list(found.values())

    def _judge(self, source: Model, name: str) -> tuple[Divergence, Agreement]:
        threads, asked = self._plan.threads, questions()
        self._progress.note(f"{name}: reading the text sample with both")
        with closing(Model(self._file(name))) as copy:
            apart = divergence(
                source, copy, sample(), threads=threads, most_tokens=self._plan.text_tokens
            )
        self._progress.note(f"{name}: answering the closed questions with both")
        if self._source_answers is None:
            self._source_answers = answers(self._weights.path, asked, threads=threads)
        theirs = answers(self._file(name), asked, threads=threads)
        alike = agreement(asked, self._source_answers, theirs)
        self._progress.note(
            f"{name}: KL {apart.kl:.4f} nats, same first token {apart.same_top:.1%}, "
            f"{alike.same:.1%} of {alike.n_questions} questions answered alike"
        )
        return apart, alike

    def _curves(self, model: Model, what: str) -> Curves:
        self._progress.note(f"{what}: measuring steps of 1 to {MOST} tokens")
        with ExitStack() as stack:
            probe = self._probe(stack, model)
            return curves_of(probe, self._plan.sizes, self._plan.seconds * _CURVES / 2)

    def _settings(
        self, model: Model
    ) -> tuple[tuple[Setting, ...], tuple[Setting, ...], tuple[str, ...]]:
        """Thread counts and KV types, each against what was asked for."""
        plan = self._plan
        self._progress.note("measuring thread counts and KV types")
        cpu = this_cpu()
        counts = sorted({plan.threads, *thread_counts(cpu.usable_cores, cpu.cpus)})
        by_threads, _ = self._compare(
            {str(n): partial(self._probe, model=model, threads=n) for n in counts},
            base=str(plan.threads),
        )
        long = partial(self._probe, model=model, prefix_tokens=LONG_PREFIX_TOKENS)
        by_kv_type, cannot = self._compare(
            {name: partial(long, kv_type=name) for name in sorted({plan.kv_type, *KV_TYPES})},
            base=plan.kv_type,
        )
        return by_threads, by_kv_type, cannot

    def _compare(
        self, opened: dict[str, Callable[[ExitStack], Probe]], base: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
        cannot: list[str] = []
        with ExitStack() as stack:
            probes: dict[str, Probe] = {}
            for name, opener in opened.items():
                try:
                    probes[name] = opener(stack)
                except EngineFailed as error:
                    if name == base:
                        raise
                    cannot.append(f"KV cache in {name}: {error.message}")
            all_rounds = take_turns(list(probes.values()), self._plan.seconds * _SETTINGS / 2)
        rounds = dict(zip(probes, all_rounds, strict=True))
        settings = tuple(
            Setting(name=name, speed=Speed.of(one), gain=Gain.of(rounds[base], one))
            for name, one in rounds.items()
        )
        return settings, tuple(cannot)

    def _keep(self, report: Report) -> None:
        """Put copy and manifest in place: the copy first, and the manifest makes it count."""
        copy = None
        if report.chosen is not None:
            copy = tuned.adopt(self._file(report.chosen), self._sha256, report.chosen)
        else:
            tuned.forget(self._sha256)
        tuned.keep(
            tuned.Tuning(
                name=report.model,
                source_sha256=report.source_sha256,
                machine=report.machine,
                build=report.build,
                date=report.date,
                copy=copy,
                threads=report.threads,
                kv_type=report.kv_type,
                tokens=report.curves.tokens.points,
                sequences=report.curves.sequences.points,
                report=report.as_dict(),
            )
        )


def _unsteady(report: Report) -> Iterator[str]:
    speeds = [report.source, *(one.speed for one in report.tried if one.speed)]
    spread = max(max(s.prefill.spread, s.alone.spread, s.together.spread) for s in speeds)
    if spread > BUSY_SPREAD:
        yield (
            f"timings varied by up to {spread:.0%} between rounds: other work was going on; the "
            f"gains are medians of rounds that saw both alike"
        )
