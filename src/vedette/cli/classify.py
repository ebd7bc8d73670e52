"""`vedette classify`: texts to labels with probabilities."""

from __future__ import annotations

from typing import Literal

from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job


def classify(
    *paths: PathOrStdin,
    labels: str,
    multi: bool = False,
    examples: str | None = None,
    prior: Literal["stream", "content-free", "none"] = "stream",
    evidence: bool = False,
    thresholds: str | None = None,
    explain: bool = False,
    instructions: str = "",
    options: JobOptions | None = None,
) -> int:
    """Give each text one label, or several with --multi, by scoring them.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin.
    labels
        Labels separated by commas, or a file: a label a line (`name` or `name: description`), or
        JSON: an array of names or an object of name -> description.
    multi
        Each label applies or does not, on its own.
    examples
        A JSONL file of rows with right labels, {"text": ..., "label": ...}.
    prior
        Correct for the labels that the model prefers whatever it reads: measured on the first 64
        texts of the job (stream), which should be a fair mixture; on texts that say nothing
        (content-free); or not at all. There is no such correction with --multi.
    evidence
        Copy from the text the words that the label rests on, with their offsets.
    thresholds
        A file that vedette calibrate wrote for this model and these labels: each answer then says
        whether it is kept ("keep"). It takes the place of --prior.
    explain
        Add to each answer what moved it: the odds as scored, the prior, the temperature.
    instructions
        A sentence more for the model.
    """
    from vedette.tasks.calibrations import read_calibrations
    from vedette.tasks.classify import Classify
    from vedette.tasks.examples import label_examples
    from vedette.tasks.labels import read_labels

    check_paths(paths, classify)
    rows = label_examples(read_text(examples, "examples"), examples) if examples else ()
    task = Classify(
        labels=read_labels(labels),
        examples=rows,
        multi=multi,
        prior=prior,
        evidence=evidence,
        calibrations=read_calibrations(thresholds) if thresholds else None,
        explain=explain,
        instructions=instructions,
    )
    return run_job(task, paths, options or JobOptions())
