"""Text to one of many labels, by the examples that it is nearest to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vedette.backends.base import Backend, Identified
from vedette.decide.closed import decide
from vedette.errors import CapabilityMissing, InputTooLong, LabelError
from vedette.tasks.base import Steps, Task
from vedette.tasks.calibrations import Calibrations, key_of
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label, check_labels
from vedette.tasks.prompt_data import prompt_of, text_of, with_instructions
from vedette.tasks.reply import embedding_of
from vedette.types import Answer, EmbedRequest, Item, Json

from .index import Found, Index

QUESTION = "label"
SHOWN = 8  # probabilities in an answer, likeliest first
MAX_INPUT_TOKENS = 1000
IN_SCOPE_LOSS = 0.05


@dataclass(frozen=True)
class Nearest:
    """Implements `Task`: a label with its probability, from texts whose label is known.

    How near two texts are is the mean of two likenesses: in what the model expects after them
    (`EmbedRequest`), and in spelling. A label's name and description stand for it beside its
    `examples`; the nearest of them count most. The scale of the probabilities is fitted on the
    examples, each left out in turn. With `out_of_scope`, that name is an answer too: for texts
    that are farther from every label than all but the share `in_scope_loss` of the examples are
    from theirs, or nearer to the examples that have that name, if there are any. `calibrations`
    say of each answer whether it is kept.
    Raises `LabelError` for labels that cannot be used and for examples with other labels.
    """

    labels: tuple[Label, ...]
    examples: tuple[LabelledText, ...] = ()
    instructions: str = ""
    out_of_scope: str = ""
    in_scope_loss: float = IN_SCOPE_LOSS
    calibrations: Calibrations | None = None
    only_scores: bool = field(default=False, kw_only=True)
    index: Index | None = field(default=None, kw_only=True, compare=False, repr=False)
    name: str = field(default="classify", init=False)

    def __post_init__(self) -> None:
        known = {label.name for label in check_labels(self.labels)}
        if self.out_of_scope in known:
            raise LabelError(f"{self.out_of_scope!r} is a label, so it cannot mean 'none of them'")
        for example in self.examples:
            if len(example.labels) != 1 or example.labels[0] not in self.names:
                raise LabelError(
                    f"an example has the label {', '.join(example.labels)!r}, "
                    "which is not one of the list"
                )
        if not 0 < self.in_scope_loss < 1:
            raise LabelError(f"the loss in scope is {self.in_scope_loss}; it is a share, as 0.05")
        n_in_scope = sum(example.labels[0] in known for example in self.examples)
        if self.out_of_scope and n_in_scope < 1 / self.in_scope_loss:
            raise LabelError(
                f"an answer out of scope needs at least {round(1 / self.in_scope_loss)} examples "
                "of the labels",
                hint="their distances say how far is too far; give some of each label",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as they are answered, that out of scope last."""
        return (*(label.name for label in self.labels), *filter(None, (self.out_of_scope,)))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """See `Embeds`: the examples, then a text for each label."""
        spoken = (
            f"{_spoken(label.name)}: {label.description}"
            if label.description
            else _spoken(label.name)
            for label in self.labels
        )
        return (*(example.text for example in self.examples), *spoken)

    def embed_request(self, text: str) -> EmbedRequest:
        """See `Embeds`."""
        return EmbedRequest(prompt=prompt_of(self._system, text))

    def placed(self, vectors: NDArray[np.float32]) -> Nearest:
        """See `Embeds`."""
        order = {name: i for i, name in enumerate(self.names)}
        owner = [order[example.labels[0]] for example in self.examples]
        n_labels = len(self.labels)
        index = Index(
            self.texts,
            vectors,
            [*owner, *range(n_labels)],
            n_labels=n_labels,
            n_examples=len(owner),
        )
        return replace(self, index=index)

    @property
    def _system(self) -> str:
        return with_instructions(text_of("nearest", "system"), self.instructions)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "labels": [[label.name, label.description] for label in self.labels],
            "prompt": self._system,
            "examples": [[example.text, *example.labels] for example in self.examples],
            "parameters": {
                **({"calibrations": self.calibrations.identity} if self.calibrations else {}),
                "method": "nearest",
                "out_of_scope": [self.out_of_scope, self.in_scope_loss],
            },
        }

    @property
    def has_prior(self) -> bool:
        """Likeness leans to no label, so there is nothing to be divided out."""
        return False

    def key(self, backend: Identified) -> str:
        """What a calibration is made for: the labels, the examples and the model."""
        return key_of(replace(self, calibrations=None).identity, backend)

    def raw_scores(self) -> Task:
        """The task whose answers are the log-probabilities of `names`."""
        return replace(self, calibrations=None, only_scores=True)

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if self.calibrations is not None:
            self.calibrations.check(self.name, self.key, backend)
        if not item.text.strip():
            return Answer(value={"label": None}, extra={"empty": True})
        self._check(item, backend)
        results = yield [self.embed_request(item.text)]
        embedding = embedding_of(results[0])
        if self.index is None:
            raise RuntimeError("the task's own texts have not been placed")
        limit = self.index.limit(self.in_scope_loss) if self.out_of_scope else None
        found = self.index.look_up(item.text, np.asarray([embedding.vector], np.float32), limit)
        logprobs = found.logprobs
        value: Json = [*logprobs] if self.only_scores else self._value(logprobs, found)
        return Answer(value=value, usage=embedding.usage)

    def _check(self, item: Item, backend: Backend) -> None:
        if not backend.capabilities.can_embed:
            raise CapabilityMissing(
                "labels by the nearest examples need a backend that can embed",
                hint="use --backend local, or --method score",
            )
        n_tokens = backend.count_tokens(item.text)
        if n_tokens > MAX_INPUT_TOKENS:
            raise InputTooLong(
                f"the text has {n_tokens} tokens; neighbours can be trusted up to "
                f"{MAX_INPUT_TOKENS}",
                hint="split the text, or classify a summary of it",
            )

    def _value(self, logprobs: Sequence[float], found: Found) -> dict[str, Json]:
        if self.calibrations is None:
            decision, kept = decide(self.names, logprobs), {}
        else:
            calibration = self.calibrations.questions[QUESTION]
            decision = calibration.decide(logprobs)
            kept = {"keep": calibration.keeps(decision)}
        return {
            "label": decision.best,
            "probability": round(decision.probability, 4),
            "margin": round(decision.margin, 4),
            "similarity": round(found.best, 4),
            "nearest": self.texts[found.nearest],
            "probabilities": {
                decision.choices[i]: round(decision.probabilities[i], 4)
                for i in decision.order[:SHOWN]
            },
            **kept,
        }


def _spoken(name: str) -> str:
    """A label as words: `card_not-working` is three of them."""
    return name.replace("_", " ").replace("-", " ")
