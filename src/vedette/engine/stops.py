"""Stop strings in a stream: text that might still become one is held back."""

from __future__ import annotations


class StopScanner:
    """Passes text on until a stop string appears; the stop string itself is not passed on."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """Text that is safe to show after `text` has come in."""
        if not self._stops:
            return text
        if self.hit:
            return ""
        text = self._held + text
        # The one that ends first: so the cut does not depend on how the text was split.
        found = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.hit, self._held = True, ""
            return text[: min(found)[1]]
        n_held = max(self._overlap(text, stop) for stop in self._stops)
        cut = len(text) - n_held
        self._held = text[cut:]
        return text[:cut]

    @staticmethod
    def _overlap(text: str, stop: str) -> int:
        """Length of the longest end of `text` that is a beginning of `stop`."""
        for n in range(min(len(text), len(stop) - 1), 0, -1):
            if text.endswith(stop[:n]):
                return n
        return 0

    def finish(self) -> str:
        """What was held back and did not become a stop string."""
        held, self._held = self._held, ""
        return held
