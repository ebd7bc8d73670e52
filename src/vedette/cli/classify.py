"""`vedette classify`: texts to labels with probabilities."""

from __future__ import annotations

from typing import Literal

from vedette.cli.console import note
from vedette.cli.escalation import EscalationOptions
from vedette.cli.job import JobOptions, PathOrStdin, check_paths, read_text, run_job
from vedette.cli.red_lines import refuse_red_lines


def classify(
    *paths: PathOrStdin,
    labels: str,
    multi: bool = False,
    examples: str | None = None,
    method: Literal["auto", "score", "nearest"] = "auto",
    out_of_scope: str = "",
    prior: Literal["stream", "content-free", "none"] | None = None,
    evidence: bool = False,
    thresholds: str | None = None,
    explain: bool = False,
    instructions: str = "",
    force: bool = False,
    escalation: EscalationOptions | None = None,
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
    method
        Score each label after the text (score), or answer the label of the nearest examples
        (nearest), which is better for more than some 20 labels. auto goes by their number.
    out_of_scope
        A name for "none of the labels": the answer for texts that are farther from every label
        than 95% of the examples are from theirs. Needs examples.
    prior
        With scores, correct for the labels that the model prefers whatever it reads: measured on
        the first 64 texts of the job (stream, the default), which should be a fair mixture; on
        texts that say nothing (content-free); or not at all (none). There is no such correction
        with --multi.
    evidence
        Copy from the text the words that the label rests on, with their offsets.
    thresholds
        A file that vedette calibrate wrote for this model and these labels: each answer then says
        whether it is kept ("keep"). It takes the place of --prior.
    explain
        Add to each answer what moved it: the odds as scored, the prior, the temperature.
    instructions
        A sentence more for the model.
    force
        Go on where the task looks like one that a small model is not to be trusted with.
    """
    from vedette.tasks.calibrations import read_calibrations
    from vedette.tasks.classifier import chosen_unasked, classifier
    from vedette.tasks.examples import label_examples
    from vedette.tasks.labels import read_labels

    check_paths(paths, classify)
    options = options or JobOptions()
    refuse_red_lines([instructions], options, force=force)
    rows = label_examples(read_text(examples, "examples"), examples) if examples else ()
    task = classifier(
        read_labels(labels),
        rows,
        method=method,
        out_of_scope=out_of_scope,
        multi=multi,
        prior=prior,
        evidence=evidence,
        calibrations=read_calibrations(thresholds) if thresholds else None,
        explain=explain,
        instructions=instructions,
    )
    for line in chosen_unasked(task, method, out_of_scope):
        note(line, quiet=options.quiet)
    escalation = escalation or EscalationOptions()
    gated = escalation.gate(task, has_thresholds=thresholds is not None)
    return run_job(gated or task, paths, options, larger=escalation.escalate_to)
