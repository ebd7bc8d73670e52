"""Prompts as a llama-server's model reads them: its own chat template, its own tokens."""

from __future__ import annotations

from collections import OrderedDict

from vedette.engine.template import (
    Frame,
    Segment,
    closed_thought,
    frame_of,
    marked_messages,
    segments_of,
)
from vedette.errors import InputError
from vedette.types import Prompt

from .failures import no_sense
from .http_client import HttpClient

MOST_KEPT = 1024
KEPT_CHARACTERS = 8_000_000


class ServerPrompts:
    """Renders and tokenises over HTTP, and keeps what many requests share.

    As in process, the template is rendered with marks in place of the contents, and what stands
    between its parts is tokenised on its own: a text that holds `<|im_end|>` does not end its turn.
    """

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._frames: dict[tuple[str, ...], Frame] = {}
        self._tokens = _Kept()

    async def ids(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt, the assistant's turn opened."""
        if prompt.raw is not None:
            return [*await self._tokenised(prompt.raw, is_special=True, is_first=True)]
        ids: list[int] = []
        for segment in await self._segments(prompt):
            if segment.trusted and not ids:
                ids.extend(await self._opening(segment.text))
            else:
                ids.extend(
                    await self._tokenised(segment.text, is_special=segment.trusted, is_first=False)
                )
        return ids

    async def _opening(self, text: str) -> tuple[int, ...]:
        """The first tokens: with the model's own beginning, not twice if the template has it."""
        added = await self._tokenised(text, is_special=True, is_first=True)
        written = await self.special_ids(text)
        is_twice = added[1:] == written and added[:1] == written[:1]
        return written if is_twice else added

    async def text(self, prompt: Prompt) -> str:
        """The prompt as one text, for people."""
        if prompt.raw is not None:
            return prompt.raw
        return "".join(segment.text for segment in await self._segments(prompt))

    async def plain_ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text on its own."""
        return await self._tokenised(text, is_special=False, is_first=False)

    async def special_ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text in which control tokens are spelt."""
        return await self._tokenised(text, is_special=True, is_first=False)

    async def _segments(self, prompt: Prompt) -> list[Segment]:
        if not prompt.messages:
            raise InputError("the prompt has no message")
        roles = tuple(message.role for message in prompt.messages)
        if roles not in self._frames:
            self._frames[roles] = await self._frame(roles)
        return segments_of(self._frames[roles], prompt)

    async def _frame(self, roles: tuple[str, ...]) -> Frame:
        body = {
            "messages": marked_messages(roles),
            # Templates that can think do not, as in process.
            "chat_template_kwargs": {"enable_thinking": False},
        }
        reply = await self._client.ask("/apply-template", body)
        text = reply.get("prompt")
        if not isinstance(text, str):
            raise no_sense("no rendered template", str(reply).encode(), self._client.server).error
        return frame_of(closed_thought(text), roles)

    async def _tokenised(self, text: str, *, is_special: bool, is_first: bool) -> tuple[int, ...]:
        key = (text, is_special, is_first)
        known = self._tokens.get(key)
        if known is not None:
            return known
        body = {"content": text, "parse_special": is_special, "add_special": is_first}
        reply = await self._client.ask("/tokenize", body)
        tokens = reply.get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            raise no_sense("no tokens", str(reply).encode(), self._client.server).error
        self._tokens.put(key, tuple(tokens))
        return tuple(tokens)


_Key = tuple[str, bool, bool]


class _Kept:
    """The latest texts with their tokens, as many as `MOST_KEPT` and `KEPT_CHARACTERS` allow."""

    def __init__(self) -> None:
        self._entries: OrderedDict[_Key, tuple[int, ...]] = OrderedDict()
        self._n_characters = 0

    def get(self, key: _Key) -> tuple[int, ...] | None:
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: _Key, tokens: tuple[int, ...]) -> None:
        if key not in self._entries:
            self._n_characters += len(key[0])
        self._entries[key] = tokens
        while len(self._entries) > MOST_KEPT or self._n_characters > KEPT_CHARACTERS:
            gone, _ = self._entries.popitem(last=False)
            self._n_characters -= len(gone[0])
