"""`POST /v1/rerank`: documents by how well they answer a query, as Jina's and Cohere's APIs do."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, cast

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse
from pydantic import Field

from vedette.errors import VedetteError
from vedette.tasks.ranking import METHOD, Method
from vedette.tasks.rerank import Rerank
from vedette.types import Item, Json

from .body import Body
from .errands import Errands
from .facts import Facts
from .fields import LoraScale
from .problems import Refusal
from .task_replies import RankingReply

PATHS = ("/v1/rerank", "/rerank", "/reranking", "/v1/reranking")


class DocumentBody(Body):
    """A document that is not a bare text."""

    text: str
    refused: ClassVar = {
        "image": ((), "this server reads text only"),
        "title": ((), "put it into the text"),
    }


class RerankBody(Body):
    """A query and the documents. `method`, `order`, `read` and `instructions` are vedette's own."""

    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[str | DocumentBody], Field(min_length=1)]
    model: str | None = None
    lora: list[LoraScale] | None = None
    top_n: Annotated[int | None, Field(ge=1)] = None
    return_documents: bool = False
    method: Method = METHOD
    order: Literal["given", "words"] = "words"
    read: Annotated[int | None, Field(ge=1)] = None
    instructions: str = ""
    refused: ClassVar = {
        "rank_fields": ((["text"],), "documents have one field, text"),
        "max_chunks_per_doc": ((), "documents are read as method says"),
        "max_tokens_per_doc": ((), "documents are read as method says"),
        "truncation": ((True,), "a longer document is taken by its opening, or in windows"),
        "stream": ((False,), "a ranking comes whole"),
    }

    def task(self) -> Rerank:
        """The task. Raises `InputError` for fields that do not go together."""
        return Rerank(
            top=self.top_n or len(self.documents),
            method=self.method,
            order=self.order,
            read=self.read,
            instructions=self.instructions,
            return_documents=self.return_documents,
        )

    @property
    def item(self) -> Item:
        """The query with its candidates."""
        texts: list[Json] = [one if isinstance(one, str) else one.text for one in self.documents]
        return Item(id="1", text=self.query, columns={"documents": texts})


def rerank_router(facts: Facts, errands: Errands) -> APIRouter:
    """The routes, over a server's backend."""
    router = APIRouter()

    async def rerank(body: RerankBody, http: HttpRequest) -> JSONResponse:
        """Documents by how well they answer a query."""
        model = facts.model if body.model is None else body.model
        adapters = facts.adapters(model, body.lora)
        if not body.query.strip():
            raise Refusal("query: it is blank", param="query")
        (outcome,) = await errands.outcomes(
            http, body.task(), [body.item], n_places=len(body.documents), adapters=adapters
        )
        if isinstance(outcome, VedetteError):
            raise outcome
        results = cast(dict[str, Any], outcome.value)["results"]
        n_tokens = outcome.usage.prompt_tokens
        return JSONResponse(
            {
                "model": model,
                "object": "list",
                "results": [_result(one) for one in results],
                "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
            }
        )

    for path in PATHS:
        router.post(path, response_model=RankingReply)(rerank)
    return router


def _result(result: dict[str, Json]) -> dict[str, Json]:
    return {key: result[key] for key in ("index", "relevance_score", "document") if key in result}
