"""Trains a LoRA adapter by PEFT: a program of its own, so that its memory is given back.

    python -P training.py JOB.json

The job is a JSON object with the keys of `Job`. What happens is told on stdout, a JSON object a
line; the factors go to the job's `out`, an .npz with `MODULE.a` and `MODULE.b`. It imports nothing
of vedette: what the base is, what the lessons are and what becomes of the factors is decided there.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import peft
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

Lesson: TypeAlias = tuple[list[int], list[int]]
"""Tokens of a prompt and of its answer."""

WARM_UP = 0.05
"""Share of the training in which the learning rate rises."""
MOST_GRADIENT = 1.0
TOLD_EVERY_S = 10.0
NO_EPOCH = 0
"""The model as it was before the first epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is asked. `alpha` / `rank` scales the change; `modules` are the layers that get one."""

    gguf: str
    training: list[Lesson]
    validation: list[Lesson]
    modules: list[str]
    rank: int
    alpha: float
    epochs: int
    batch_rows: int
    learning_rate: float
    max_seconds: float
    threads: int
    seed: int
    is_bf16: bool
    out: str


class Teller:
    """Writes events to what was stdout; whatever else prints there goes to stderr."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def __call__(self, event: str, **facts: object) -> None:
        """Write one event."""
        self._stream.write(json.dumps({"event": event, **facts}) + "\n")
        self._stream.flush()


class Trainer:
    """A base model under an adapter that is being trained."""

    def __init__(self, job: Job, tell: Teller) -> None:
        self._job = job
        self._tell = tell
        self._random = random.Random(job.seed)
        torch.manual_seed(job.seed)
        torch.set_num_threads(job.threads)
        self.causal = _adapted(job)
        self._trained = [p for p in self.causal.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(self._trained, lr=job.learning_rate, weight_decay=0.0)
        self._n_steps = job.epochs * math.ceil(len(job.training) / job.batch_rows)
        self._step = 0
        self._started = time.monotonic()
        self._told = self._started

    def run(self) -> None:
        """Train, and leave the model as it was after the best epoch."""
        n_values = sum(p.numel() for p in self._trained)
        best, best_epoch = self.validation_loss(), NO_EPOCH
        kept = [p.detach().clone() for p in self._trained]
        self._tell("begun", values=n_values, steps=self._n_steps, validation_loss=best)
        epoch, is_over = 0, False
        while epoch < self._job.epochs and not is_over:
            epoch += 1
            training_loss, is_over = self._epoch()
            loss = self.validation_loss()
            if loss < best:
                best, best_epoch = loss, epoch
                kept = [p.detach().clone() for p in self._trained]
            self._tell(
                "epoch",
                epoch=epoch,
                step=self._step,
                training_loss=training_loss,
                validation_loss=loss,
                seconds=self._seconds,
            )
        with torch.no_grad():
            for parameter, value in zip(self._trained, kept, strict=True):
                parameter.copy_(value)
        self._tell("ended", best_epoch=best_epoch, is_cut=is_over, versions=_versions())

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _epoch(self) -> tuple[float, bool]:
        """The mean loss of an epoch's steps, and whether the time was over before its end."""
        self.causal.train()
        losses = []
        batches = _batches(self._job.training, self._job.batch_rows, self._random)
        for number, batch in enumerate(batches, start=1):
            losses.append(self._learn(batch))
            if self._seconds >= self._job.max_seconds and self._step < self._n_steps:
                return sum(losses) / number, True
        return sum(losses) / len(losses), False

    def _learn(self, batch: list[Lesson]) -> float:
        self._step += 1
        rate = self._job.learning_rate * _rate(self._done)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        total, n_tokens = self._loss(batch)
        loss = total / n_tokens
        loss.backward()
        nn.utils.clip_grad_norm_(self._trained, MOST_GRADIENT)
        self._optimizer.step()
        self._optimizer.zero_grad()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ArithmeticError(f"the loss is {value} at step {self._step}")
        now = time.monotonic()
        if now - self._told >= TOLD_EVERY_S:
            self._told = now
            self._tell(
                "step", step=self._step, steps=self._n_steps, loss=value, seconds=self._seconds
            )
        return value

    @property
    def _done(self) -> float:
        """The share of the training that is over: of its steps or of its time, whichever is more.

        So the learning rate comes down to the end of either.
        """
        by_time = self._seconds / self._job.max_seconds
        return min(1.0, max(self._step / self._n_steps, by_time))

    def validation_loss(self) -> float:
        """Mean loss of an answer's token over the validation rows."""
        self.causal.eval()
        rows = sorted(self._job.validation, key=_length)
        total, n_tokens = 0.0, 0
        with torch.no_grad():
            for at in range(0, len(rows), self._job.batch_rows):
                loss, n = self._loss(rows[at : at + self._job.batch_rows])
                total += float(loss)
                n_tokens += n
        return total / n_tokens

    def _loss(self, batch: list[Lesson]) -> tuple[Tensor, int]:
        """The loss summed over the tokens of the answers, and how many these are.

        Logits are computed where a token of an answer comes next, and nowhere else.
        """
        ids, is_there, is_answer = _padded(batch)
        hidden = self.causal.model(input_ids=ids, attention_mask=is_there).last_hidden_state
        # The state at a token says what comes after it.
        before_answer = hidden[:, :-1][is_answer[:, 1:]]  # (n_answer_tokens, n_hidden)
        logits = self.causal.lm_head(before_answer).float()
        wanted = ids[:, 1:][is_answer[:, 1:]]
        return cross_entropy(logits, wanted, reduction="sum"), len(wanted)

    def save(self) -> None:
        """Write the factors."""
        factors = {}
        for name, module in self.causal.named_modules():
            if hasattr(module, "lora_A"):
                factors[f"{name}.a"] = module.lora_A["default"].weight.detach().float().numpy()
                factors[f"{name}.b"] = module.lora_B["default"].weight.detach().float().numpy()
        np.savez(self._job.out, **factors)


def _adapted(job: Job) -> Any:
    """The base model with LoRA layers in it, which begin as no change."""
    path = Path(job.gguf)
    base = transformers.AutoModelForCausalLM.from_pretrained(
        str(path.parent),
        gguf_file=path.name,
        dtype=torch.bfloat16 if job.is_bf16 else torch.float32,
    )
    base.config.use_cache = False
    config = peft.LoraConfig(
        r=job.rank,
        lora_alpha=job.alpha,
        target_modules=job.modules,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(base, config).get_base_model()


def _rate(done: float) -> float:
    """The learning rate as a share of its most: up in a line, then down in half a cosine."""
    return min(1.0, done / WARM_UP) * 0.5 * (1.0 + math.cos(math.pi * done))


def _length(lesson: Lesson) -> int:
    return len(lesson[0]) + len(lesson[1])


def _batches(lessons: list[Lesson], n_rows: int, chance: random.Random) -> list[list[Lesson]]:
    """Each lesson once: rows of like length together, the batches in an order of chance."""
    mixed = chance.sample(lessons, len(lessons))
    near = 16 * n_rows  # rows are sorted within so many, so that batches differ between epochs
    ordered = [
        lesson
        for at in range(0, len(mixed), near)
        for lesson in sorted(mixed[at : at + near], key=_length)
    ]
    batches = [ordered[at : at + n_rows] for at in range(0, len(ordered), n_rows)]
    chance.shuffle(batches)
    return batches


def _padded(batch: list[Lesson]) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, where there is one, and where it is an answer's.  # (n_rows, n_longest)"""
    longest = max(map(_length, batch))
    ids = torch.zeros((len(batch), longest), dtype=torch.long)
    is_there = torch.zeros((len(batch), longest), dtype=torch.long)
    is_answer = torch.zeros((len(batch), longest), dtype=torch.bool)
    for row, (prompt, answer) in enumerate(batch):
        length = len(prompt) + len(answer)
        ids[row, :length] = torch.tensor([*prompt, *answer])
        is_there[row, :length] = 1
        is_answer[row, len(prompt) : length] = True
    return ids, is_there, is_answer


def _versions() -> dict[str, str]:
    return {
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "peft": peft.__version__,
    }


def main() -> None:
    """Do the job in the file that the command line names."""
    tell = Teller()
    job = Job(**json.loads(Path(sys.argv[1]).read_text("utf-8")))
    trainer = Trainer(job, tell)
    trainer.run()
    trainer.save()


if __name__ == "__main__":
    main()
