"""Which of the two ways to a label suits a label list."""

from __future__ import annotations

from typing import Literal, TypeAlias

from vedette.errors import LabelError

from .calibrations import Calibrations
from .classify import Classify
from .label_prompt import LabelledText
from .labels import Label
from .nearest.task import Nearest

Method: TypeAlias = Literal["auto", "score", "nearest"]
Prior: TypeAlias = Literal["stream", "content-free", "none"]

MANY = 24
"""With more labels than this a small model no longer tells them apart from their names."""


OUT_OF_SCOPE = ("oos", "out_of_scope", "out-of-scope", "out of scope")
"""Labels that by their name mean "none of the others"."""


def classifier(
    labels: tuple[Label, ...],
    examples: tuple[LabelledText, ...] = (),
    *,
    method: Method = "auto",
    multi: bool = False,
    prior: Prior | None = None,
    evidence: bool = False,
    explain: bool = False,
    instructions: str = "",
    out_of_scope: str = "",
    calibrations: Calibrations | None = None,
) -> Classify | Nearest:
    """The task for these labels: scored by the model, or by the nearest examples.

    `auto` takes the nearest examples for more than `MANY` labels and wherever `out_of_scope` is an
    answer, unless an option asks for what only scoring has. By the nearest examples, a label with
    one of the names `OUT_OF_SCOPE` is out of scope unless another is named. Raises `LabelError`
    for options that do not go together.
    """
    only_scored = {
        "multi": multi,
        "evidence": evidence,
        "explain": explain,
        "prior": prior is not None,
    }
    asked = [name for name, is_on in only_scored.items() if is_on]
    if method == "auto":
        many = len(labels) > MANY and not asked
        method = "nearest" if many or out_of_scope else "score"
    if method == "score":
        if out_of_scope:
            raise LabelError(
                "scored labels have no answer out of scope",
                hint="leave out --method, or make it a label with a description",
            )
        return Classify(
            labels=labels,
            examples=examples,
            multi=multi,
            prior=prior or "stream",
            evidence=evidence,
            explain=explain,
            instructions=instructions,
            calibrations=calibrations,
        )
    if asked:
        raise LabelError(
            f"{asked[0]} goes with scored labels, not with labels by the nearest examples",
            hint="leave it out, or use --method score without --out-of-scope",
        )
    named = [label.name for label in labels if label.name in OUT_OF_SCOPE]
    if named and examples:
        out_of_scope = out_of_scope or named[0]
    return Nearest(
        labels=tuple(label for label in labels if label.name != out_of_scope),
        examples=examples,
        instructions=instructions,
        out_of_scope=out_of_scope,
        calibrations=calibrations,
    )


def chosen_unasked(task: Classify | Nearest, method: Method, out_of_scope: str) -> list[str]:
    """What `classifier` decided that nobody had asked for, a sentence each: to be told."""
    if not isinstance(task, Nearest):
        return []
    told = []
    if method == "auto" and not out_of_scope:
        told.append(
            f"{len(task.labels)} labels: answered by the nearest examples, as by --method nearest"
        )
    if task.out_of_scope and not out_of_scope:
        told.append(f"the label {task.out_of_scope!r} is answered for texts far from all others")
    return told
