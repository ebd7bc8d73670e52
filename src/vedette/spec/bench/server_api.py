"""What is asked of a llama-server under measurement, and what it counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from vedette.errors import EngineFailed, ServerFailed

from .prompts import SYSTEM

TIMEOUT_S = 1800
_COUNTER = re.compile(
    r'^llamacpp:spec_decode_num_(\w+?)_total(?:\{position="(\d+)"\})? (\S+)$', re.M
)


@dataclass(frozen=True, slots=True)
class Counters:
    """Drafts made since the start, and right guesses by their place in a draft.

    All zero in a build that does not count.
    """

    drafts: int = 0
    right: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> Self:
        """From the text of `/metrics`."""
        drafts, right = 0, {}
        for name, position, value in _COUNTER.findall(text):
            if name == "drafts":
                drafts = int(float(value))
            elif name == "accepted_tokens_per_pos" and position:
                right[int(position)] = int(float(value))
        return cls(drafts, tuple(right.get(i, 0) for i in range(max(right, default=-1) + 1)))

    def since(self, before: Counters) -> tuple[tuple[int, int], ...]:
        """(checked, right) by position. A guess counts as checked where the one before was right.

        Where drafts end early the later ones were not there to be checked: their share is a lower
        bound.
        """
        old = before.right + (0,) * (len(self.right) - len(before.right))
        right = [new - was for new, was in zip(self.right, old, strict=True)]
        checked = self.drafts - before.drafts
        found: list[tuple[int, int]] = []
        for n in right or [0]:
            if checked <= 0:
                break
            found.append((checked, n))
            checked = n
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An answer with the server's own timings. `guessed` is 0 where it tells of no draft."""

    text: str
    token_ids: tuple[int, ...]
    tokens: int
    seconds: float
    guessed: int
    right: int


class ServerApi:
    """One llama-server, asked one thing at a time.

    All raise `ServerFailed` for a reply that makes no sense, and `EngineFailed` where there is
    none; `why_gone` may know why.
    """

    def __init__(self, url: str, why_gone: Callable[[], EngineFailed | None]) -> None:
        self._client = httpx2.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False)
        self._why_gone = why_gone

    def render(self, text: str) -> str:
        """A chat of the system's message and this one, as the model reads it."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        return str(self._post("/apply-template", {"messages": messages}, "prompt"))

    def ids(self, text: str) -> list[int]:
        """The tokens of a rendered chat."""
        body = {"content": text, "add_special": True, "parse_special": True}
        return list(self._post("/tokenize", body, "tokens"))

    def write(self, prompt: str, max_tokens: int) -> Written:
        """A greedy answer to a rendered chat, nothing of it taken from a cache."""
        body = {
            "prompt": prompt,
            "n_predict": max_tokens,
            "temperature": 0,
            "cache_prompt": False,
            "return_tokens": True,
        }
        reply = self._ask("POST", "/completion", body)
        try:
            timings = reply["timings"]
            return Written(
                text=str(reply["content"]),
                token_ids=tuple(map(int, reply["tokens"])),
                # The first token comes with the prompt, before the time of writing begins.
                tokens=int(timings["predicted_n"]) - 1,
                seconds=float(timings["predicted_ms"]) / 1e3,
                guessed=int(timings.get("draft_n", 0)),
                right=int(timings.get("draft_n_accepted", 0)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ServerFailed(f"/completion told no {error}") from error

    def top_two_gap(self, ids: Sequence[int]) -> float:
        """How far the two likeliest next tokens lie apart, in logits."""
        body = {
            "prompt": list(ids),
            "n_predict": 1,
            "temperature": 0,
            "cache_prompt": False,
            "n_probs": 2,
        }
        entry = self._post("/completion", body, "completion_probabilities")[0]
        first, second = (float(one["logprob"]) for one in entry["top_logprobs"])
        return first - second

    def counters(self) -> Counters:
        """What it has counted so far."""
        return Counters.of(self._send("GET", "/metrics", None).text)

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _post(self, path: str, body: dict[str, Any], key: str) -> Any:
        reply = self._ask("POST", path, body)
        if key not in reply:
            raise ServerFailed(f"{path} told no {key}", hint="is it a llama-server?")
        return reply[key]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        try:
            reply = self._send(method, path, body).json()
        except ValueError as error:
            raise ServerFailed(f"{path} answered what is not JSON") from error
        if not isinstance(reply, dict):
            raise ServerFailed(f"{path} answered {str(reply)[:80]}")
        return reply

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> httpx2.Response:
        try:
            response = self._client.request(method, path, json=body)
        except httpx2.TransportError as error:
            raise self._why_gone() or EngineFailed(
                f"the llama-server did not answer {path}: {error or type(error).__name__}"
            ) from error
        if response.status_code != httpx2.codes.OK:
            raise ServerFailed(
                f"{path} answered HTTP {response.status_code}: {response.text[:200]}"
            )
        return response
