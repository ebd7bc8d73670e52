"""`vedette decide`: closed questions about texts, answered with probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from vedette.cli.escalation import EscalationOptions
from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job
from vedette.cli.red_lines import refuse_red_lines

if TYPE_CHECKING:
    from vedette.decide.question import Question


def decide(
    *paths: PathOrStdin,
    ask: Annotated[list[str] | None, Parameter(negative=())] = None,
    questions: str | None = None,
    prior: Literal["content-free", "none"] = "content-free",
    both_orders: bool = False,
    thresholds: str | None = None,
    explain: bool = False,
    instructions: str = "",
    force: bool = False,
    escalation: EscalationOptions | None = None,
    options: JobOptions | None = None,
) -> int:
    """Answer closed questions about each text by scoring: yes or no, a choice, ordered levels.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    ask
        A question; may be given again. "Is it urgent?" is yes or no, "Which team? billing|shipping"
        a choice, "How urgent? can wait<today<now" ordered levels. `name=` before it names it.
    questions
        A JSON file of questions: an object of id -> {"type": "choice" or "score" or "noul",
        "instructions", "criteria"}.
    prior
        Correct for the answers that the model prefers whatever it reads: measured once for each
        question on texts that say nothing (content-free), or not at all.
    both_orders
        Put each question with its answers in reverse too, and take the mean.
    thresholds
        A file that vedette calibrate decide wrote for this model and these questions: each answer
        then says whether it is kept ("keep"). It takes the place of --prior.
    explain
        Add to each answer what moved it: the odds as scored, the prior, the temperature, and the
        odds with the options in reverse, which costs a question more each.
    instructions
        A sentence more for the model.
    force
        Go on where the task looks like one that a small model is not to be trusted with.
    """
    from vedette.tasks.calibrations import read_calibrations
    from vedette.tasks.decide import Decide

    check_paths(paths, decide)
    asked = questions_of(ask, questions)
    options = options or JobOptions()
    asks = [*(one.instructions for one in asked), instructions]
    refuse_red_lines(asks, options, force=force)
    task = Decide(
        questions=asked,
        prior=prior,
        both_orders=both_orders,
        calibrations=read_calibrations(thresholds) if thresholds else None,
        explain=explain,
        instructions=instructions,
    )
    escalation = escalation or EscalationOptions()
    gated = escalation.gate(task, has_thresholds=thresholds is not None)
    return run_job(gated or task, paths, options, larger=escalation.escalate_to)


def questions_of(ask: list[str] | None, path: str | None) -> tuple[Question, ...]:
    """The questions of `--ask`, then those of a file. Raises `InputError` and `FileError`."""
    from vedette.decide.question import ask as parse
    from vedette.decide.question import read_questions

    asked = [parse(spec, number) for number, spec in enumerate(ask or (), start=1)]
    if path is not None:
        asked += read_questions(read_text(path, "questions"), path)
    return tuple(asked)
