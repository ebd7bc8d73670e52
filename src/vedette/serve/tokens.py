"""`POST /tokenize`, `/detokenize` and `/apply-template`, as llama-server has them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from vedette.backends.base import Backend
from vedette.backends.llama_server import LlamaServerBackend
from vedette.backends.local import LocalBackend
from vedette.engine.core import EngineCore
from vedette.errors import CapabilityMissing
from vedette.tasks.chat_tools import in_words
from vedette.types import Prompt, Request

from .body import Body
from .facts import Facts
from .messages import ChatMessage, seen_talk
from .problems import AsciiJson
from .replies import ContentReply, PromptReply, TokenList


class TokenizeBody(Body):
    """A text. `add_special` puts the token first with which the model's prompts start."""

    content: str
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeBody(Body):
    """Token ids."""

    tokens: list[int]


class TemplateBody(Body):
    """A chat."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]


def token_router(facts: Facts) -> APIRouter:
    """The routes, over a server's backend."""
    router = APIRouter()

    @router.post("/tokenize", response_model=TokenList)
    async def tokenize(body: TokenizeBody) -> JSONResponse:
        """The tokens of a text."""
        tokens = await asyncio.to_thread(
            _engine(facts.backend).tokenize,
            body.content,
            special=body.parse_special,
            add_bos=body.add_special,
        )
        if body.with_pieces:
            return JSONResponse(
                {"tokens": [{"id": token, "piece": _readable(piece)} for token, piece in tokens]}
            )
        return JSONResponse({"tokens": [token for token, _ in tokens]})

    @router.post("/detokenize", response_model=ContentReply)
    async def detokenize(body: DetokenizeBody) -> JSONResponse:
        """The text of tokens."""
        content = await asyncio.to_thread(_engine(facts.backend).detokenize, body.tokens)
        return JSONResponse({"content": content})

    @router.post("/apply-template", response_model=PromptReply)
    async def apply_template(body: TemplateBody) -> JSONResponse:
        """A chat as the model reads it."""
        if not isinstance(facts.backend, LocalBackend | LlamaServerBackend):
            raise CapabilityMissing("the chat template is the server's secret")
        talk = await seen_talk(body.messages, facts.pictures)
        prompt = Prompt(messages=in_words(talk.messages))
        shown = await asyncio.to_thread(facts.backend.show_prompt, Request(prompt=prompt))
        return AsciiJson({"prompt": shown})

    return router


def _engine(backend: Backend) -> EngineCore:
    """The engine that has the tokenizer. Raises `CapabilityMissing`."""
    if not isinstance(backend, LocalBackend):
        raise CapabilityMissing(
            "only a model in this process shows its tokens", hint="serve it with --backend local"
        )
    return backend.engine


def _readable(piece: bytes) -> Any:
    """The text of a token; of a part of a character, its bytes."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)
