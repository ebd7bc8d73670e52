"""Which model of a server is asked, and how much it can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vedette.errors import InputError, RequestRefused

from .http_client import HttpClient

ASSUMED_TOKENS = 8192
"""Room of a model of which the server does not tell it."""

SHOWN = 10
# Where servers put it: vLLM, OpenRouter; llama-server in `meta`.
_ROOM = ("max_model_len", "context_length", "n_ctx")


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model's name and its room for prompt and answer."""

    name: str
    context_tokens: int = ASSUMED_TOKENS


async def served_model(client: HttpClient, name: str | None) -> ServedModel:
    """The model of this name, or the only one.

    Raises `InputError` where the server lists others only, or several and none is named. A server
    that lists no models is believed to have the one that is named.
    """
    listed = await _listed(client, is_needed=name is None)
    if name is None:
        if len(listed) == 1:
            return _served(listed[0])
        raise InputError(
            f"{client.server} has {len(listed) or 'no'} models, and none is named",
            hint=f"name one behind the URL: openai:URL#NAME{_among(listed)}",
        )
    for entry in listed:
        aliases = entry.get("aliases")
        if name == entry["id"] or (isinstance(aliases, list) and name in aliases):
            return _served(entry, name)
    if listed:
        raise InputError(f"{client.server} has no model {name!r}", hint=f"it has{_among(listed)}")
    return ServedModel(name)


async def _listed(client: HttpClient, *, is_needed: bool) -> list[dict[str, Any]]:
    try:
        found = (await client.get("/models")).get("data")
    except RequestRefused as error:
        if not is_needed:
            return []
        raise InputError(
            f"{client.server} lists no models: {error.message}",
            hint="does the URL lack /v1? Else name the model behind it: openai:URL#NAME",
        ) from error
    entries = found if isinstance(found, list) else []
    return [e for e in entries if isinstance(e, dict) and isinstance(e.get("id"), str)]


def _served(entry: dict[str, Any], name: str | None = None) -> ServedModel:
    meta = entry.get("meta")
    told = {**(meta if isinstance(meta, dict) else {}), **entry}
    room = next((told[key] for key in _ROOM if isinstance(told.get(key), int)), ASSUMED_TOKENS)
    return ServedModel(name or entry["id"], room)


def _among(listed: list[dict[str, Any]]) -> str:
    names = [entry["id"] for entry in listed]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f" {', '.join(names[:SHOWN])}{more}" if names else ""
