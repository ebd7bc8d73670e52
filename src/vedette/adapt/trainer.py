"""Runs the training in a process of its own and follows what it tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vedette.cpu import this_cpu
from vedette.errors import CapabilityMissing, EngineFailed, InputError
from vedette.models.adapter_writer import Factors
from vedette.types import Json

from .architectures import MODULES
from .lessons import Lesson

PROGRAM = Path(__file__).with_name("training.py")
NEEDED = ("torch", "transformers", "peft", "accelerate")
BF16_FEATURES = ("AVX512_BF16",)
"""Of processors that multiply bfloat16 as such; others would only lose time with it."""
Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How it is trained. `alpha` is twice the rank. Raises `InputError` for what cannot be."""

    rank: int = 16
    epochs: int = 3
    batch_rows: int = 4
    learning_rate: float = 1e-3
    max_minutes: float = 20.0
    length_tokens: int = 512
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("rank", "epochs", "batch_rows", "learning_rate", "max_minutes"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name.replace('_', '-')} must be over 0")
        if self.length_tokens < 2:
            raise InputError(f"length-tokens is {self.length_tokens}; it must be at least 2")

    @property
    def alpha(self) -> float:
        """Over the rank it is the factor of the change."""
        return 2.0 * self.rank

    def as_dict(self) -> dict[str, Json]:
        """For the report."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Mean losses of an answer's token; epoch 0 is the model as it was."""

    number: int
    training_loss: float | None
    validation_loss: float

    def as_dict(self) -> dict[str, Json]:
        """For the report."""
        loss = None if self.training_loss is None else round(self.training_loss, 5)
        return {
            "epoch": self.number,
            "training_loss": loss,
            "validation_loss": round(self.validation_loss, 5),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What came of a training. `is_cut`: the time was over before the epochs were."""

    factors: dict[str, Factors]
    epochs: tuple[Epoch, ...]
    best_epoch: int
    is_cut: bool
    n_values: int
    versions: dict[str, Json] = field(default_factory=dict)


def check_extra() -> None:
    """Raise `CapabilityMissing` unless the extra `train` is installed."""
    missing = next((name for name in NEEDED if find_spec(name) is None), None)
    if missing is not None:
        raise CapabilityMissing(
            f"training needs {missing}, which is not installed",
            hint="install it with: pip install 'vedette[train]'",
        )


def train(
    gguf: Path,
    training: Sequence[Lesson],
    validation: Sequence[Lesson],
    options: Options,
    folder: Path,
    tell: Tell,
) -> Trained:
    """Train on lessons, in a child process that keeps its files in `folder`.

    Raises `EngineFailed` with the last that the process said if it does not come to an end.
    """
    out = folder / "factors.npz"
    job = {
        "gguf": str(gguf.resolve()),
        "training": [(lesson.prompt, lesson.answer) for lesson in training],
        "validation": [(lesson.prompt, lesson.answer) for lesson in validation],
        "modules": MODULES,
        "rank": options.rank,
        "alpha": options.alpha,
        "epochs": options.epochs,
        "batch_rows": options.batch_rows,
        "learning_rate": options.learning_rate,
        "max_seconds": 60.0 * options.max_minutes,
        "threads": options.threads,
        "seed": options.seed,
        "is_bf16": has_bf16(),
        "out": str(out),
    }
    file = folder / "job.json"
    file.write_text(json.dumps(job), "utf-8")
    epochs: list[Epoch] = []
    facts: dict[str, Any] = {}
    for event in events_of([sys.executable, "-P", str(PROGRAM), str(file)], folder, options):
        if event["event"] in ("begun", "epoch"):
            epochs.append(
                Epoch(
                    number=len(epochs),
                    training_loss=event.get("training_loss"),
                    validation_loss=event["validation_loss"],
                )
            )
        facts |= event
        if said := _said(event):
            tell(said)
    return Trained(
        factors=factors_in(out),
        epochs=tuple(epochs),
        best_epoch=facts["best_epoch"],
        is_cut=facts["is_cut"],
        n_values=facts["values"],
        versions=facts["versions"],
    )


def has_bf16() -> bool:
    """Whether this processor multiplies bfloat16 as such."""
    features = this_cpu().features or ()
    return any(feature in features for feature in BF16_FEATURES)


def events_of(command: list[str], folder: Path, options: Options) -> Iterator[dict[str, Any]]:
    """What a program tells, a JSON object a line, until it ends; it is stopped with the caller.

    Raises `EngineFailed` unless it ends well.
    """
    log = folder / "training.log"
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(options.threads),
        "HF_HUB_OFFLINE": "1",  # all that is needed is in the file
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TQDM_DISABLE": "1",
    }
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as child,
    ):
        try:
            assert child.stdout is not None
            for line in child.stdout:
                yield json.loads(line)
            code = child.wait()
        finally:
            child.kill()  # if the caller has turned away; one that has ended is let be
    if code:
        raise EngineFailed(f"the training did not come to its end: {_reason(code, log)}")


def _reason(code: int, log: Path) -> str:
    if code == -signal.SIGKILL:
        return "the system killed it, most likely for want of memory"
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"it ended with code {code}"


def _said(event: dict[str, Any]) -> str:
    """An event in a sentence; '' for one that says nothing to people."""
    match event["event"]:
        case "begun":
            return (
                f"training: {event['values']:,} values, {event['steps']:,} steps; "
                f"validation loss {event['validation_loss']:.4f} before"
            )
        case "step":
            return (
                f"step {event['step']:,} of {event['steps']:,}, loss {event['loss']:.4f}, "
                f"{event['seconds']:.0f} s"
            )
        case "epoch":
            return (
                f"epoch {event['epoch']}: training loss {event['training_loss']:.4f}, "
                f"validation loss {event['validation_loss']:.4f}, {event['seconds']:.0f} s"
            )
    return ""


def factors_in(file: Path) -> dict[str, Factors]:
    """The factors of each module in the file that the training wrote."""
    with np.load(file) as arrays:
        names = {name.rpartition(".")[0] for name in arrays.files}
        return {name: (arrays[f"{name}.a"], arrays[f"{name}.b"]) for name in sorted(names)}
