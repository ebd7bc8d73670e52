"""What every measurement has in common: two sides, a job, and turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vedette.backends.server_process import ServerOptions
from vedette.batch import Source
from vedette.tasks.base import Task

from .build import Build, identify
from .contest import Contest, Plan, Say, hold
from .in_process import InProcess
from .questions import Question, Questions, questions_of, slot_tokens, warmup_questions
from .report import BindingReport, Judge, KeywordReport, PeerReport, Report, report, setting
from .served import PeerJob, Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A job that is known to make sense, before anything is timed.

    `slot_tokens` is the room that the longest request needs.
    """

    model: str
    path: Path
    build: Build
    questions: Questions
    warmup: tuple[Question, ...]
    slot_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Vedette's engine and the peer's program, the rows, and how often."""

    engine: InProcess
    program: Path
    source: Source
    plan: Plan = field(default_factory=Plan)

    def prepare(self, task: Task, say: Say) -> Prepared:
        """Read the rows and look at both sides. Raises what is wrong with any of them."""
        rows = self.source.rows()
        build = identify(self.program)
        backend = self.engine.open()
        try:
            questions = questions_of(rows, task, backend)
            prepared = Prepared(
                model=backend.name,
                path=backend.path,
                build=build,
                questions=questions,
                warmup=warmup_questions(max(self.plan.slots), task, backend),
                slot_tokens=slot_tokens(questions.asked, backend),
            )
        finally:
            backend.close()
        say(f"{len(questions.asked)} items; the llama-server is a {build.kind} build")
        return prepared

    def contest(self, task: Task, prepared: Prepared, job: PeerJob, say: Say) -> Contest:
        """Run both sides in turns. Raises `EngineFailed` if the peer cannot be started or dies."""
        options = ServerOptions(
            cpu_only=True,
            threads=self.engine.options.threads,
            kv_type=self.engine.options.kv_type,
            slot_tokens=prepared.slot_tokens,
        )
        served = Served(program=self.program, model=prepared.path, options=options)
        return hold(self.plan, self.engine, task, prepared.questions.items, served, job, say)

    def report(
        self,
        kind: str,
        prepared: Prepared,
        contest: Contest,
        judge: Judge,
        keywords: KeywordReport | None = None,
        binding: BindingReport | None = None,
    ) -> Report:
        """What the contest says."""
        best = contest.best.options
        return report(
            kind,
            setting(
                options=self.engine.options,
                model=prepared.model,
                model_path=prepared.path,
                data=", ".join(self.source.paths),
                questions=prepared.questions,
                repeat=self.plan.repeat,
            ),
            PeerReport(
                program=self.program,
                build=prepared.build,
                slots=best.n_slots,
                slot_tokens=best.slot_tokens,
                flash_attention=best.flash_attention,
                calibration=contest.calibration,
            ),
            contest,
            judge,
            prepared.questions.items,
            keywords,
            binding,
        )
