"""How far a packed copy is from its source: next-token divergence, and closed questions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vedette.decide.closed import decide, mean_prior
from vedette.engine.core import EngineCore
from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model
from vedette.engine.options import EngineOptions
from vedette.types import Message, Prompt, ScoreRequest

TEXTS = ("english", "chinese", "code", "json")
CHUNK_TOKENS = 32  # read at once; all their logits lie in memory, of both models
MOST_TEXT_TOKENS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Of the source's next-token distribution from the copy's, over the positions of the sample.

    `kl` is the mean Kullback-Leibler divergence KL(source || copy) in nats, `kl_99` its 99th
    percentile, `same_top` the share of positions at which both expect the same token first.
    """

    kl: float
    kl_99: float
    same_top: float
    n_tokens: int
    by_text: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Closed questions: the share with the same answer, and the shares that are right."""

    same: float
    source_right: float
    copy_right: float
    n_questions: int


@dataclass(frozen=True, slots=True)
class Question:
    """A closed question about texts; `right` are the indices of their right choices."""

    prompts: tuple[Prompt, ...]
    choices: tuple[str, ...]
    right: tuple[int, ...]


def sample(n_texts: int = len(TEXTS)) -> dict[str, str]:
    """The texts, by what they are: some 500 tokens each."""
    folder = files("vedette.tune").joinpath("sample")
    return {name: folder.joinpath(f"{name}.txt").read_text("utf-8") for name in TEXTS[:n_texts]}


@cache
def questions() -> tuple[Question, ...]:
    """The decision set."""
    source = files("vedette.tune").joinpath("sample").joinpath("decisions.toml")
    table = tomllib.loads(source.read_text("utf-8"))
    system = Message("system", table["system"])
    found = []
    for one in table["questions"]:
        choices = ", ".join(one["choices"])
        asked = table["user"].format(question=one["question"], choices=choices)
        prompts = [
            Prompt((system, Message("user", asked + text)), 1, shared_chars=len(asked))
            for _, text in one["texts"]
        ]
        right = tuple(index for index, _ in one["texts"])
        found.append(Question(tuple(prompts), tuple(one["choices"]), right))
    return tuple(found)


def divergence(
    source: Model, copy: Model, texts: Mapping[str, str], *, threads: int, most_tokens: int
) -> Divergence:
    """Read the texts with both models, side by side. Raises `EngineFailed`."""
    kl: dict[str, list[NDArray[np.float64]]] = {name: [] for name in texts}
    same: list[NDArray[np.bool_]] = []
    for name, text in texts.items():
        tokens = source.tokenize(text, add_bos=source.adds_bos)[:most_tokens]
        for ours, theirs in zip(
            _logits(source, tokens, threads), _logits(copy, tokens, threads), strict=True
        ):
            kl[name].append(_kl(ours, theirs))
            same.append(ours.argmax(axis=1) == theirs.argmax(axis=1))
    by_text = {name: np.concatenate(parts) for name, parts in kl.items()}
    every = np.concatenate(list(by_text.values()))
    return Divergence(
        kl=float(every.mean()),
        kl_99=float(np.quantile(every, 0.99)),
        same_top=float(np.concatenate(same).mean()),
        n_tokens=len(every),
        by_text={name: float(values.mean()) for name, values in by_text.items()},
    )


def _logits(model: Model, tokens: Sequence[int], threads: int) -> Iterator[NDArray[np.float32]]:
    """The logits after each token, a chunk at a time.  # (n_tokens, n_vocab)"""
    spec = ContextSpec(
        cells=MOST_TEXT_TOKENS,
        n_seq=1,
        batch_tokens=CHUNK_TOKENS,
        n_outputs=CHUNK_TOKENS,
        threads=threads,
    )
    with closing(Context(model, spec)) as context:
        batch = Batch(CHUNK_TOKENS)
        for start in range(0, len(tokens), CHUNK_TOKENS):
            piece = tokens[start : start + CHUNK_TOKENS]
            batch.clear()
            batch.add(0, piece, start, len(piece))
            context.decode(batch)
            yield context.logits(len(piece))


def _kl(ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> NDArray[np.float64]:
    """KL of each row in nats.  # (n_tokens,)"""
    p, q = _log_softmax(ours), _log_softmax(theirs)
    return np.maximum(0.0, np.sum(np.exp(p) * (p - q), axis=1, dtype=np.float64))


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    total = np.exp(shifted).sum(axis=1, keepdims=True, dtype=np.float64)
    return np.asarray(shifted - np.log(total), dtype=np.float32)


def answers(path: Path, asked: Sequence[Question], *, threads: int) -> list[list[int]]:
    """The index of the choice that the model prefers, for each text of each question.

    Raises `EngineFailed`, `ModelCorrupt` or what a score request raises.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(EngineCore(path, EngineOptions(threads=threads)))
        found = []
        for question in asked:
            tickets = [
                engine.submit(ScoreRequest(prompt=prompt, choices=question.choices))
                for prompt in question.prompts
            ]
            rows = [ticket.result().logprobs for ticket in tickets]
            prior = mean_prior(rows)
            found.append([decide(question.choices, row, prior).order[0] for row in rows])
        return found


def agreement(
    asked: Sequence[Question], source: Sequence[Sequence[int]], copy: Sequence[Sequence[int]]
) -> Agreement:
    """How the answers of two models compare."""
    rows = [
        (ours, theirs, right)
        for question, ours_all, theirs_all in zip(asked, source, copy, strict=True)
        for ours, theirs, right in zip(ours_all, theirs_all, question.right, strict=True)
    ]
    n = len(rows)
    return Agreement(
        same=sum(ours == theirs for ours, theirs, _ in rows) / n,
        source_right=sum(ours == right for ours, _, right in rows) / n,
        copy_right=sum(theirs == right for _, theirs, right in rows) / n,
        n_questions=n,
    )
