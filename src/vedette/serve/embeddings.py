"""`POST /v1/embeddings`: where the model places texts."""

from __future__ import annotations

import base64
from typing import Any, ClassVar, Literal

import numpy as np
from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse, Response
from numpy.typing import NDArray

from vedette.errors import CapabilityMissing
from vedette.tasks.prompt_data import prompt_of, text_of
from vedette.types import Embedding, EmbedRequest

from .body import Body
from .facts import Facts
from .fields import LoraScale
from .problems import Refusal
from .replies import EmbeddingList


class EmbeddingBody(Body):
    """The body of a request for embeddings."""

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    lora: list[LoraScale] | None = None
    user: str | None = None
    refused: ClassVar = {"dimensions": ((), "vectors have the length that they have")}

    def requests(self, facts: Facts) -> list[EmbedRequest]:
        """One for each text. Raises `Refusal` and `CapabilityMissing`."""
        adapters = facts.adapters(self.model, self.lora)
        if not facts.backend.capabilities.can_embed:
            raise CapabilityMissing(
                f"{facts.model} embeds no texts here", hint="serve it with --backend local"
            )
        texts = [self.input] if isinstance(self.input, str) else self.input
        if not texts or "" in texts:
            raise Refusal("input: there is a text missing", param="input")
        system = text_of("rerank", "system_passage")
        return [
            EmbedRequest(
                prompt=prompt_of(system, text), deadline_s=facts.deadline_s, adapters=adapters
            )
            for text in texts
        ]


def embedding_router(facts: Facts) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.post("/v1/embeddings", response_model=EmbeddingList)
    async def embed(body: EmbeddingBody, http: HttpRequest) -> Response:
        """Where the model places texts."""
        found = await facts.desk.answers(http, body.requests(facts), Embedding)
        n_tokens = sum(one.usage.prompt_tokens for one in found)
        answer: dict[str, Any] = {
            "object": "list",
            "data": [
                {
                    "object": "embedding",
                    "index": index,
                    "embedding": _written(unit_vector(one), body.encoding_format),
                }
                for index, one in enumerate(found)
            ],
            "model": body.model,
            "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
        }
        return JSONResponse(answer)

    return router


def unit_vector(embedding: Embedding) -> NDArray[np.float32]:
    """The vector around its own mean, of length 1: (n_values,).

    A constant added to all logits says nothing about what is expected.
    """
    vector = np.asarray(embedding.vector, np.float32)
    vector = vector - vector.mean()
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


def _written(vector: NDArray[np.float32], form: str) -> str | list[float]:
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [float(value) for value in vector]
