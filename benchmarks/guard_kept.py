"""The guard with embeddings that `guard_embed.py` kept in place of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from common import say
from guard_embed import key_of, unpacked
from guard_sets import Texts
from kept import json_lines
from numpy.typing import NDArray

from vedette.backends.tokenizers import open_tokenizer
from vedette.errors import InputError
from vedette.tasks.guard.evidence import Reading, read
from vedette.tasks.guard.survey import stretches
from vedette.types import AnyRequest, Capabilities, Embedding, Json, Usage


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A text: its set, whether it is an attack, and the embeddings of its windows."""

    set: str
    attack: bool
    reading: Reading
    vectors: NDArray[np.float32]  # (n_windows, n_values)


class KeptEmbeddings:
    """Answers embed requests from the file of `guard_embed.py`; counts tokens as the model does."""

    width = 1
    capabilities = Capabilities(can_embed=True, context_tokens=32768)

    def __init__(self, path: Path, model: str) -> None:
        head, *lines = json_lines(path)
        tokenizer = open_tokenizer(model)
        self.identity: dict[str, Json] = tokenizer.identity
        if head["about"]["model_sha256"] != self.identity["model_sha256"]:
            raise InputError(f"{path} has the embeddings of another model than {model}")
        self.prompt = str(head["about"]["prompt"])
        self.vectors = {line["key"]: unpacked(line["answer"]) for line in lines}
        self.count_tokens = cache(tokenizer.count_tokens)

    def answer(self, request: AnyRequest) -> Embedding:
        """The embedding that was kept of the text in the request."""
        vector = self.vectors[key_of(request.prompt.messages[-1].content)]
        return Embedding(vector=tuple(vector.tolist()), usage=Usage(prompt_tokens=1))

    def submit(self, request: AnyRequest) -> Done:
        """See `Backend.submit`."""
        return Done(self.answer(request))


@dataclass(frozen=True, slots=True)
class Done:
    """A handle of an answer that is there."""

    value: Embedding

    def result(self, timeout_s: float | None = None) -> Embedding:
        """The answer."""
        return self.value

    def on_done(self, callback: Callable[[], None]) -> None:
        """It is."""
        callback()

    def cancel(self) -> None:
        """Too late."""


def cases_of(sets: Sequence[Texts], kept: KeptEmbeddings) -> list[Case]:
    """The texts of which every window has an embedding."""
    found = []
    for one in sets:
        n = 0
        for text in one.texts:
            reading = read(text)
            keys = [key_of(part.text) for part in stretches(reading, kept)]
            if keys and all(key in kept.vectors for key in keys):
                vectors = np.stack([kept.vectors[key] for key in keys])
                found.append(Case(one.name, one.attacks, reading, vectors))
                n += 1
        say(f"{one.name}: {n} of {len(one.texts)} texts have embeddings")
    return found
