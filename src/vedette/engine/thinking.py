"""What a model says to itself before it answers."""

from __future__ import annotations

from vedette.errors import InputError

OPENS, CLOSES = "<think>", "</think>"
AFTER = "\n\n"
"""What stands between the end of the thought and the answer, where the engine writes it."""

FREE_TOKENS = 4096
"""A thought without a limit of its own is closed after so many tokens."""


class Thinking:
    """Follows a thought to its end. `close` are the tokens that the engine ends it with."""

    def __init__(self, limit_tokens: int, close: tuple[int, ...]) -> None:
        self.close = close
        self._left = limit_tokens
        self._text = bytearray()

    @property
    def most_tokens(self) -> int:
        """What the thought may still take, its close included."""
        return self._left + len(self.close)

    @property
    def is_spent(self) -> bool:
        """No token more may be thought."""
        return self._left <= 0

    def ends_with(self, piece: bytes) -> bool:
        """Take a token's bytes; whether the model has closed the thought with it."""
        self._left -= 1
        self._text += piece
        return CLOSES.encode() in self._text[-len(piece) - len(CLOSES) :]

    @property
    def text(self) -> str:
        """The thought without its marks."""
        whole = self._text.decode("utf-8", "replace")
        return whole.partition(CLOSES)[0].strip().removeprefix(OPENS).strip()


def limit_of(think: str | int) -> int:
    """Most tokens of the thought that a request asks for; 0 for none. Raises `InputError`."""
    if think == "off":
        return 0
    if think == "free":
        return FREE_TOKENS
    if isinstance(think, int) and not isinstance(think, bool) and think >= 1:
        return think
    raise InputError(f"think is {think!r}; it must be off, free, or a number of tokens from 1 on")
