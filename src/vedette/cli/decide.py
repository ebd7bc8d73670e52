"""`vedette decide`: closed questions about texts, answered with probabilities."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job
from vedette.cli.red_lines import refuse_red_lines


def decide(
    *paths: PathOrStdin,
    ask: Annotated[list[str] | None, Parameter(negative=())] = None,
    questions: str | None = None,
    prior: Literal["content-free", "none"] = "content-free",
    both_orders: bool = False,
    instructions: str = "",
    force: bool = False,
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
    instructions
        A sentence more for the model.
    force
        Go on where the task looks like one that a small model is not to be trusted with.
    """
    from vedette.decide.question import ask as parse
    from vedette.decide.question import read_questions
    from vedette.tasks.decide import Decide

    check_paths(paths, decide)
    asked = [parse(spec, number) for number, spec in enumerate(ask or (), start=1)]
    if questions is not None:
        asked += read_questions(read_text(questions, "questions"), questions)
    options = options or JobOptions()
    asks = [*(one.instructions for one in asked), instructions]
    refuse_red_lines(asks, options, force=force)
    task = Decide(
        questions=tuple(asked), prior=prior, both_orders=both_orders, instructions=instructions
    )
    return run_job(task, paths, options)
