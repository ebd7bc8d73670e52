"""What the engine has done, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class EngineStats:
    """Running totals since the engine started; read them at any time.

    `drafts` counts the times that tokens were guessed, `right_by_place` the right ones by their
    place among the guesses of a step.
    """

    steps: int = 0
    tokens_decoded: int = 0
    tokens_shared: int = 0
    outputs: int = 0
    requests: int = 0
    drafts: int = 0
    guessed: int = 0
    guesses_right: int = 0
    right_by_place: list[int] = field(default_factory=list)
    adapter_changes: int = 0
    step_s: float = 0.0
    decode_s: float = 0.0

    @property
    def python_share(self) -> float:
        """Share of step time spent outside llama.cpp."""
        return 1.0 - self.decode_s / self.step_s if self.step_s else 0.0

    def record(self, n_tokens: int, n_outputs: int, decode_s: float, step_s: float) -> None:
        """Add one step."""
        self.steps += 1
        self.tokens_decoded += n_tokens
        self.outputs += n_outputs
        self.decode_s += decode_s
        self.step_s += step_s

    def record_guesses(self, n_guesses: int, n_right: int) -> None:
        """Add the guesses of one sequence in one step, of which the first `n_right` were right."""
        if not n_guesses:
            return
        self.drafts += 1
        self.guessed += n_guesses
        self.guesses_right += n_right
        self.right_by_place.extend([0] * (n_guesses - len(self.right_by_place)))
        for place in range(n_right):
            self.right_by_place[place] += 1
