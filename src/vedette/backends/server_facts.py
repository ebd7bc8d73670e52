"""What a llama-server says of itself and its model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

from vedette.errors import RequestRefused, ServerFailed
from vedette.types import Json

from .http_client import HttpClient
from .server_prompt import ServerPrompts

_HINT = "is it a llama-server? For other servers there is openai:URL"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Its model's `name`, room for one request, slots, and what tells its model from another.

    `end_token` ends an answer; `any_prompt` is a prompt of one token, to try things with.
    """

    name: str
    context_tokens: int
    n_slots: int
    end_token: int
    any_prompt: tuple[int, ...]
    identity: dict[str, Json]

    @classmethod
    async def ask(cls, client: HttpClient, prompts: ServerPrompts) -> Self:
        """Ask for them. Raises `ServerFailed` if it does not answer as a llama-server does."""
        try:
            props = await client.get("/props")
            models = await client.get("/v1/models")
        except RequestRefused as error:
            raise ServerFailed(error.message, hint=_HINT) from error
        defaults = _part(props, "default_generation_settings", dict, client)
        path = _part(props, "model_path", str, client)
        alias = props.get("model_alias")
        ends = await prompts.special_ids(_part(props, "eos_token", str, client))
        if len(ends) != 1:
            raise ServerFailed(f"{client.server} names no end of an answer", hint=_HINT)
        return cls(
            name=alias if isinstance(alias, str) and alias else path.rsplit("/", 1)[-1],
            context_tokens=_part(defaults, "n_ctx", int, client),
            n_slots=_part(props, "total_slots", int, client),
            end_token=ends[0],
            any_prompt=await prompts.plain_ids("a"),
            identity=_identity(path, props, models),
        )


def _identity(path: str, props: dict[str, Any], models: dict[str, Any]) -> dict[str, Json]:
    """The file and its sizes, and the template: the same wherever the server runs."""
    listed = models.get("data")
    first = listed[0] if isinstance(listed, list) and listed else {}
    meta = first.get("meta") if isinstance(first, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    template = str(props.get("chat_template", "")).encode()
    return {
        "server": "llama-server",
        "model_path": path,
        "parameters": meta.get("n_params"),
        "bytes": meta.get("size"),
        "template_sha256": hashlib.sha256(template).hexdigest(),
    }


def _part(values: dict[str, Any], name: str, kind: type, client: HttpClient) -> Any:
    value = values.get(name)
    if not isinstance(value, kind):
        raise ServerFailed(f"{client.server} does not tell its {name}", hint=_HINT)
    return value
