"""A body that was read already, for an app that reads it again."""

from __future__ import annotations

from starlette.types import Message, Receive


def replayed(body: bytes, receive: Receive) -> Receive:
    """What the app receives: the body at once, then what the connection says."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
